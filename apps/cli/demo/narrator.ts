import type { Sink } from '../io.js';

/** Tells the demo's story: chapters, steps below them, and what was checked. */
export interface Narrator {
  chapter(title: string): void;
  step(text: string): void;
  check(text: string): void;
}

/** Bold and green on a terminal, plain otherwise. */
export const narratorOn = (sink: Sink): Narrator => {
  const styled = (code: number, text: string): string => (sink.isTerminal ? `\u001b[${code}m${text}\u001b[0m` : text);
  return {
    chapter: (title) => sink.write(`\n${styled(1, title)}\n`),
    step: (text) => sink.write(`${text.replaceAll(/^/gm, '  ')}\n`),
    check: (text) => sink.write(`  ${styled(32, '✓')} ${text}\n`),
  };
};
