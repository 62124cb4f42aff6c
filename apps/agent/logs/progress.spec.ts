import { describe, expect, it } from '@jest/globals';
import { FakeTime } from '#kernel';
import { LineSplitter, progressOfFile, progressOfLine } from './progress-lines.js';
import type { ProgressTick } from './progress-lines.js';
import { ProgressReporter } from './progress-reporter.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('A-42 progress lines', () => {
  it.each([
    ['::progress 0.4 message with words', { fraction: 0.4, message: 'message with words' }],
    ['::progress 1', { fraction: 1 }],
    ['::progress\t5e-1  ', { fraction: 0.5 }],
  ])('%s', (line, tick) => expect(progressOfLine(line)).toEqual(tick));

  it.each([
    'progress 0.4',
    ' ::progress 0.4',
    '::progress',
    '::progress 1.1',
    '::progress -0.1',
    '::progress . x',
    '::progress 1e',
  ])('takes %s for ordinary output', (line) => expect(progressOfLine(line)).toBeUndefined());

  it('reads the last line of the progress file', () => {
    expect(progressOfFile('0.1 first\n0.2 second\n\n')).toEqual({ fraction: 0.2, message: 'second' });
    expect(progressOfFile('::progress 0.3\r\n')).toEqual({ fraction: 0.3 });
    expect(progressOfFile('')).toBeUndefined();
    expect(progressOfFile('soon')).toBeUndefined();
  });

  it('cuts a long message', () => {
    expect(progressOfLine(`::progress 0.5 ${'x'.repeat(900)}`)?.message).toHaveLength(500);
  });
});

describe('lines of a byte stream', () => {
  it('joins what was cut between chunks, inside a character too', () => {
    const lines = new LineSplitter();
    const all = bytes('été\r\nfin');
    expect(lines.push(all.subarray(0, 1))).toEqual([]);
    expect(lines.push(all.subarray(1))).toEqual(['été']);
    expect(lines.end()).toEqual(['fin']);
    expect(lines.end()).toEqual([]);
  });

  it('skips a line without end instead of keeping it', () => {
    const lines = new LineSplitter();
    expect(lines.push(bytes('x'.repeat(10_000)))).toEqual([]);
    expect(lines.push(bytes('::progress 0.1\nnext\n'))).toEqual(['next']);
  });
});

describe('A-42 the pace of progress reports', () => {
  const reporter = () => {
    const time = new FakeTime(5_000);
    const sent: ProgressTick[] = [];
    return { time, sent, reporter: new ProgressReporter(time, time, (tick) => sent.push(tick)) };
  };

  it('sends the first at once, then the newest once a second', () => {
    const { time, sent, reporter: progress } = reporter();
    for (const fraction of [0.1, 0.2, 0.3]) progress.offer({ fraction });
    expect(sent).toEqual([{ fraction: 0.1 }]);
    time.advance(999);
    expect(sent).toHaveLength(1);
    time.advance(1);
    expect(sent).toEqual([{ fraction: 0.1 }, { fraction: 0.3 }]);
    time.advance(10_000);
    expect(sent).toHaveLength(2);
  });

  it('sends the last at the end whatever the pace', () => {
    const { sent, reporter: progress } = reporter();
    progress.offer({ fraction: 0.1 });
    progress.offer({ fraction: 1, message: 'done' });
    progress.flush();
    progress.flush();
    expect(sent).toEqual([{ fraction: 0.1 }, { fraction: 1, message: 'done' }]);
  });

  it('does not repeat itself', () => {
    const { time, sent, reporter: progress } = reporter();
    progress.offer({ fraction: 0.1 });
    time.advance(5_000);
    progress.offer({ fraction: 0.1 });
    expect(sent).toHaveLength(1);
  });
});
