import type { Timers } from '#kernel';
import { wait } from '../client/wait.js';
import type { TaskFolder } from '../runner/task-folder.js';
import { LineSplitter, progressOfFile, progressOfLine } from './progress-lines.js';
import type { ProgressTick } from './progress-lines.js';
import { lastLines } from './read-range.js';
import { readWritten, writtenEnd } from './task-log.js';

const INTERVAL = 250;
const PIECE = 256 * 1024;
/** Bytes that are read at one look at most. */
const LOOK = 2 * 1024 * 1024;

/**
 * Looks every 250 ms at what a task wrote since the last look (standard output and progress file) and offers the newest
 * tick in it. A look reads to the present end first, so that a file found half read offers its newest tick, not its
 * oldest; of what is more than a look should take it passes over the older part. A task that uses the file is told by the
 * file alone from then on. It ends with `finish`, after one look at the rest.
 */
export class ProgressWatch {
  private readonly lines = new LineSplitter();
  private readonly stop = new AbortController();
  private readonly watching: Promise<void>;
  private lastFile = '';
  private fileTick: ProgressTick | undefined;

  constructor(
    private readonly folder: TaskFolder,
    private readonly timers: Timers,
    private readonly offer: (tick: ProgressTick) => void,
    /** Bytes of standard output that are older than what is watched. */
    private offset = 0,
  ) {
    this.watching = this.watch();
  }

  async finish(): Promise<void> {
    this.stop.abort();
    await this.watching;
  }

  private async watch(): Promise<void> {
    while (!this.stop.signal.aborted) {
      await this.look(false);
      await wait(this.timers, INTERVAL, this.stop.signal);
    }
    await this.look(true);
  }

  private async look(last: boolean): Promise<void> {
    let newest: ProgressTick | undefined;
    const consider = (line: string): void => void (newest = progressOfLine(line) ?? newest);
    for (const end = await this.passOver(); this.offset < end;) {
      const { begin, bytes } = await readWritten(this.folder.stdout, this.offset, PIECE);
      if (bytes.length === 0) break;
      if (begin > this.offset) this.lines.restart();
      this.offset = begin + bytes.length;
      this.lines.push(bytes).forEach(consider);
    }
    if (last) this.lines.end().forEach(consider);
    newest = (await this.fromFile()) ?? newest;
    if (newest) this.offer(newest);
  }

  /** Goes on near the end when too much was written since the last look; answers where the end is. */
  private async passOver(): Promise<number> {
    const end = await writtenEnd(this.folder.stdout);
    if (end - this.offset <= LOOK) return end;
    this.offset = end - LOOK;
    this.lines.restart();
    return end;
  }

  /** The newest tick of the file, changed or not: what comes by standard output comes later than it was written. */
  private async fromFile(): Promise<ProgressTick | undefined> {
    const content = (await lastLines(this.folder.progress, 5).catch(() => [])).join('\n');
    if (content !== this.lastFile) this.fileTick = progressOfFile(content) ?? this.fileTick;
    this.lastFile = content;
    return this.fileTick;
  }
}
