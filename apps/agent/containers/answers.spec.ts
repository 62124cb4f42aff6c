import { describe, expect, it } from '@jest/globals';
import { parseState } from './container.js';
import { engineEnvironment } from './engine.js';
import { parseImage } from './images.js';
import { containerFailure } from './outcome.js';
import type { SeenOfContainer } from './outcome.js';

const MIB = 2 ** 20;

describe('what an engine says of a container', () => {
  const state = (more: object, labels: Record<string, string> | null = null): string =>
    JSON.stringify([
      { Image: 'sha256:ab12', State: { StartedAt: '2026-11-30T19:21:54Z', ...more }, Config: { Labels: labels } },
    ]);

  it('is whether it started, ran out of memory, and of what it was made', () => {
    expect(
      parseState(state({ OOMKilled: true }, { 'escalon.image': 'a:1', 'escalon.image-digest': 'a@sha256:0' })),
    ).toEqual({
      started: true,
      oomKilled: true,
      image: { id: 'ab12', reference: 'a:1', digest: 'a@sha256:0' },
    });
    expect(parseState(state({ StartedAt: '0001-01-01T00:00:00Z' }))).toEqual({
      started: false,
      oomKilled: false,
      image: { id: 'ab12' },
    });
  });

  it.each(['', '[]', 'Error: no such container', 'null'])('is nothing in %j', (text) =>
    expect(parseState(text)).toBeUndefined(),
  );
});

describe('what an engine says of an image', () => {
  it('is its id and digest', () => {
    expect(parseImage('[{"Id":"f07","RepoDigests":["localhost/t@sha256:38"]}]')).toEqual({
      id: 'f07',
      digest: 'localhost/t@sha256:38',
    });
    expect(parseImage('[{"Id":"sha256:f07","RepoDigests":null}]')).toEqual({ id: 'sha256:f07' });
    expect(parseImage('[]')).toBeUndefined();
    expect(parseImage('no such image')).toBeUndefined();
  });
});

describe('an engine’s environment', () => {
  it('is what an engine needs, and neither the agent’s token nor the task’s mark', () => {
    const own = {
      HOME: '/root',
      DOCKER_HOST: 'unix:///x',
      ESCALON_TOKEN: 't',
      ESCALON_PROGRESS_FILE: 'p',
      LD_PRELOAD: 'l',
    };
    expect(engineEnvironment(own)).toEqual({
      HOME: '/root',
      DOCKER_HOST: 'unix:///x',
      LANG: 'C',
      PATH: expect.any(String),
    });
  });
});

describe('why a container failed', () => {
  const started = { started: true, oomKilled: false, image: {} };
  const why = (code: number | undefined, change: Partial<SeenOfContainer> = {}) =>
    containerFailure({
      exit: code === undefined ? undefined : { code, cpuSeconds: 0 },
      state: started,
      stderrTail: [],
      program: 'tool',
      memory: 64 * MIB,
      ...change,
    });

  it('is the kernel’s kill for want of memory, with the limit as the peak', () =>
    expect(why(137, { state: { ...started, oomKilled: true } })).toMatchObject({
      class: 'resource',
      code: 'out-of-memory',
      diagnostics: { peakMemory: 64 * MIB, memoryLimit: 64 * MIB, enforcedBy: 'container' },
    }));

  it.each([125, 126, 127])('is the engine’s when nothing of it ran, which ends with %i', (code) => {
    const stderrTail = ['Error: controller cpu is not available'];
    const failed = { class: 'infrastructure', code: 'container-engine' };
    expect(why(code, { state: { ...started, started: false }, stderrTail })).toMatchObject(failed);
    expect(why(code, { state: undefined, stderrTail })?.message).toMatch(/controller cpu is not available/);
    expect(why(code)).toBeUndefined();
  });

  it.each([
    [1, 'ERROR (catatonit:7): failed to exec pid1: No such file or directory'],
    [127, '[FATAL tini (7)] exec tool failed: No such file or directory'],
  ])('is a program that is not in the image, of which init says with %i: %s', (code, line) =>
    expect(why(code, { stderrTail: ['before', line] })).toMatchObject({
      class: 'application',
      code: 'command-not-found',
      message: 'tool: no such file or directory in the image',
    }),
  );

  it('is none of these when the task ended by itself, well or not', () => {
    expect(why(0, { state: { ...started, oomKilled: true } })).toBeUndefined();
    expect(why(3)).toBeUndefined();
    expect(why(137)).toBeUndefined();
    expect(why(undefined)).toBeUndefined();
  });
});
