import { SingleBar } from 'cli-progress';
import type { Sink } from '../io.js';

/** Tells how far something is. Lines and bar share the place: a line never tears the bar. */
export interface Progress {
  /** Prints a line above the bar. */
  line(text: string): void;
  /** `fraction` in 0…1; `message` says at what. */
  at(fraction: number, message: string): void;
  stop(): void;
}

/** A bar on a terminal; piped, nothing but the lines. */
export const progressOn = (sink: Sink): Progress => (sink.isTerminal ? barOn(sink) : linesOn(sink));

const linesOn = (sink: Sink): Progress => ({
  line: (text) => sink.write(`${text}\n`),
  at: () => undefined,
  stop: () => undefined,
});

const SIZE = 30;

const barOn = (sink: Sink): Progress => {
  const format = '{bar} {percentage} %  {message}';
  const options = { format, barsize: SIZE, hideCursor: true, clearOnComplete: true, gracefulExit: false };
  const bar = new SingleBar({ ...options, barCompleteChar: '█', barIncompleteChar: '░' });
  let shown = false;
  const hide = (): void => {
    if (shown) bar.stop();
    shown = false;
  };
  const show = (fraction: number, message: string): void => {
    if (shown) bar.update(fraction, { message });
    else bar.start(1, fraction, { message });
    shown = true;
  };
  return {
    line: (text) => {
      hide();
      sink.write(`${text}\n`);
    },
    at: show,
    stop: hide,
  };
};
