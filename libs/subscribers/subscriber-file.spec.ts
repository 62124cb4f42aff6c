import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readSubscriberFile } from './index.js';

describe('the file of subscribers', () => {
  let folder: string;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'escalon-subscribers-'));
    writeFileSync(join(folder, 'secret'), 'shared\n');
  });

  afterAll(() => {
    rmSync(folder, { recursive: true });
  });

  const read = (text: string) => {
    const path = join(folder, 'subscribers.yaml');
    writeFileSync(path, text);
    return readSubscriberFile(path);
  };
  const mistakes = (text: string): readonly string[] => {
    const found = read(text);
    return found.ok ? [] : found.mistakes.map((mistake) => mistake.replace(`${folder}/`, ''));
  };

  it('E-08 has a default for everything but who and where', () => {
    const text = `
subscribers:
  - { name: chat, url: https://chat.example/hook, secretFile: secret }
  - { name: tape, command: [/bin/tape, -x], events: [JobFailed, NodeWentOffline, JobFailed], from: start, timeout: 2s, giveUpAfter: 5 }
`;
    expect(read(text)).toMatchObject({
      ok: true,
      subscribers: [
        {
          name: 'chat',
          to: { kind: 'webhook', url: 'https://chat.example/hook', secret: 'shared' },
          from: 'now',
          timeout: 10_000,
          giveUpAfter: undefined,
          concurrency: 8,
        },
        {
          name: 'tape',
          to: { kind: 'command', command: ['/bin/tape', '-x'] },
          events: ['JobFailed', 'NodeWentOffline'],
          from: 'start',
          timeout: 2_000,
          giveUpAfter: 5,
        },
      ],
    });
    const first = read(text);
    expect(first.ok && first.subscribers[0]?.events).toEqual(
      expect.arrayContaining(['JobSubmitted', 'ExecutionReserved', 'ReservationConfirmed', 'ReservationDeclined']),
    );
  });

  it('names every mistake at once', () => {
    const text = `
subscribers:
  - { name: "a b", url: "ftp://x", timeout: 0 }
  - { name: both, url: "https://x", command: [x] }
  - { name: both, command: [x], secretFile: secret, events: [JobFinished], colour: red }
`;
    expect(
      mistakes(text)
        .map((mistake) => /: (\S+)/.exec(mistake)?.[1])
        .sort(),
    ).toEqual([
      '/subscribers/0/name',
      '/subscribers/0/timeout',
      '/subscribers/0/url',
      '/subscribers/1',
      '/subscribers/2',
      '/subscribers/2/colour',
      '/subscribers/2/events/0',
      '/subscribers/2/secretFile',
    ]);
  });

  it.each([
    ['subscribers: [', /subscribers\.yaml: /],
    ['', /must be an object/],
    ['subscribers: [{ name: a, url: "https://x", secretFile: nowhere }]', /subscriber a: ENOENT/],
  ])('%j is refused', (text, said) => {
    expect(mistakes(text)).toEqual([expect.stringMatching(said)]);
  });

  it('that is not there is refused', () => {
    expect(readSubscriberFile(join(folder, 'nothing.yaml'))).toMatchObject({ ok: false });
  });
});
