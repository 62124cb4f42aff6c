import { describe, expect, it } from '@jest/globals';
import { serverSentEvents } from './server-sent-events.js';

const read = async (...chunks: string[]) => {
  const stream = new ReadableStream({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk));
      controller.close();
    },
  });
  const events = [];
  for await (const event of serverSentEvents(new Response(stream))) events.push(event);
  return events;
};

describe('server-sent events', () => {
  it('are read across chunks, with id and kind', async () => {
    expect(await read('id: 7\nevent: job\nda', 'ta: {"a":', '1}\n\ndata: x\n\n')).toEqual([
      { id: '7', event: 'job', data: '{"a":1}' },
      { id: undefined, event: 'message', data: 'x' },
    ]);
  });

  it('join several lines of data, and skip comments and what is cut off', async () => {
    expect(await read(': ping\n\ndata: a\r\ndata: b\r\n\r\ndata: torn')).toEqual([
      { id: undefined, event: 'message', data: 'a\nb' },
    ]);
  });
});
