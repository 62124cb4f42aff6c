export interface ServerSentEvent {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
}

/** Reads `text/event-stream` (WHATWG HTML, section 9.2) from an answer's body until it ends. */
export async function* serverSentEvents(response: Response): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    const blocks = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n\r\n|\n\n|\r\r/);
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const event = parseBlock(block);
      if (event) yield event;
    }
  }
}

/** A block without data (a comment that keeps the connection open) is none. */
const parseBlock = (block: string): ServerSentEvent | undefined => {
  const fields = block.split(/\r\n|\n|\r/).map((line) => /^([a-z]*):? ?(.*)$/s.exec(line) ?? []);
  const values = (name: string): string[] =>
    fields.flatMap(([, field, value]) => (field === name ? [value ?? ''] : []));
  const data = values('data');
  if (data.length === 0) return undefined;
  return { id: values('id').at(-1), event: values('event').at(-1) ?? 'message', data: data.join('\n') };
};
