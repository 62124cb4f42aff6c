/** One step that a task told: `fraction` in 0…1 and an optional message. */
export interface ProgressTick {
  readonly fraction: number;
  readonly message?: string;
}

const LONGEST_MESSAGE = 500;
const LONGEST_LINE = 8192;

const tick = (fraction: string | undefined, message: string | undefined): ProgressTick | undefined => {
  const parsed = Number(fraction);
  if (fraction === undefined || !(parsed >= 0 && parsed <= 1)) return undefined;
  const text = message?.trim().slice(0, LONGEST_MESSAGE) ?? '';
  return text === '' ? { fraction: parsed } : { fraction: parsed, message: text };
};

/** `::progress 0.4 message` on a line of its own; anything else, or a fraction outside 0…1, is ordinary output. */
export const progressOfLine = (line: string): ProgressTick | undefined => {
  const match = /^::progress\s+([0-9.eE+-]+)(?:\s+(.*?))?\s*$/.exec(line);
  return match ? tick(match[1], match[2]) : undefined;
};

/** The progress file holds lines `0.4 message` (or the stdout form); the last complete one counts. */
export const progressOfFile = (content: string): ProgressTick | undefined => {
  const lines = content.split(/\r?\n/).filter((line) => line.trim() !== '');
  const last = lines.at(-1)?.trim();
  if (last === undefined) return undefined;
  const match = /^(?:::progress\s+)?([0-9.eE+-]+)(?:\s+(.*))?$/.exec(last);
  return match ? tick(match[1], match[2]) : undefined;
};

/** Cuts a byte stream into lines across chunk borders. A line longer than 8 KiB is skipped, not kept in memory. */
export class LineSplitter {
  private rest = '';
  private skipping = false;
  private readonly decoder = new TextDecoder();

  push(chunk: Uint8Array): string[] {
    const lines = (this.rest + this.decoder.decode(chunk, { stream: true })).split('\n');
    this.rest = lines.pop() ?? '';
    if (this.skipping && lines.length > 0) {
      lines.shift();
      this.skipping = false;
    }
    if (this.rest.length > LONGEST_LINE) {
      this.rest = '';
      this.skipping = true;
    }
    return lines.map((line) => line.replace(/\r$/, ''));
  }

  /** What comes next does not follow on what came before, and may begin within a line. */
  restart(): void {
    this.rest = '';
    this.skipping = true;
  }

  /** What stands after the last line end, once no more will come. */
  end(): string[] {
    const last = this.skipping ? '' : this.rest;
    this.rest = '';
    return last === '' ? [] : [last];
  }
}
