import { describe, expect, it } from '@jest/globals';
import { parsePriority, parseReason, parseReport, parseReports, parseRerun } from './index.js';

const consumption = {
  cpuSeconds: 1.5,
  wallSeconds: 2,
  maxMemory: 1024,
  maxDisk: 0,
  gpuSeconds: 0,
  bytesIn: 1,
  bytesOut: 2,
};
const gpu = { id: 'g0', share: 0.5, memory: 1 };
const contract = { cpu: 0.5, memory: 1024, disk: 0, ioSlots: 0, gpus: [gpu] };
const artifact = { path: 'result.json', sha256: 'a'.repeat(64), size: 3, mediaType: 'application/json' };
const of = (type: string, fields: object = {}): object => ({
  type,
  executionId: 'j-1.e-1',
  fencingToken: 3,
  ...fields,
});
const succeed = of('succeed', { exitCode: 0, artifacts: [artifact], consumption });
const fail = of('fail', { class: 'application', code: 'exit-code', message: 'the task ended with 3' });

const mistakes = (parsed: ReturnType<typeof parseReport>): readonly string[] =>
  parsed.ok ? [] : parsed.errors.map(({ pointer, code }) => `${pointer} ${code}`);

describe('reports of a node', () => {
  it.each([
    of('confirm'),
    of('confirm', { contract: { ...contract, batchSize: 4 } }),
    of('decline', { reason: 'the disk is full' }),
    of('prepare'),
    of('start'),
    of('progress', { fraction: 0.5, message: 'half', diagnostics: { epoch: 3 } }),
    of('pause'),
    of('resume'),
    of('publish'),
    succeed,
    fail,
    { ...fail, exitCode: 3, diagnostics: { signal: null }, artifacts: [artifact], consumption },
  ])('A-42 A-43 E-07 %j comes through as it is, in plain data', (report) => {
    const parsed = parseReport(report);
    expect(parsed).toStrictEqual({ ok: true, value: report });
  });

  it.each([
    [null, '/type REQUIRED'],
    [{}, '/type REQUIRED'],
    [of('suceed', { exitCode: 0 }), '/type NOT_ALLOWED'],
    [of('constructor'), '/type NOT_ALLOWED'],
    [of('confirm', { reason: 'x' }), '/reason UNKNOWN_FIELD'],
    [of('confirm', { contract: { ...contract, memory: -1 } }), '/contract/memory OUT_OF_RANGE'],
    [of('confirm', { contract: { ...contract, batchSize: 0 } }), '/contract/batchSize OUT_OF_RANGE'],
    [of('confirm', { contract: { ...contract, gpus: [{ ...gpu, share: 2 }] } }), '/contract/gpus/0/share OUT_OF_RANGE'],
    [of('decline'), '/reason REQUIRED'],
    [{ ...of('start'), fencingToken: '3' }, '/fencingToken WRONG_TYPE'],
    [{ ...of('start'), executionId: '' }, '/executionId OUT_OF_RANGE'],
    [of('progress', { fraction: 1.5 }), '/fraction OUT_OF_RANGE'],
    [{ ...succeed, exitCode: 1.5 }, '/exitCode WRONG_TYPE'],
    [{ ...succeed, consumption: { ...consumption, cpuSeconds: -1 } }, '/consumption/cpuSeconds OUT_OF_RANGE'],
    [{ ...succeed, artifacts: [{ ...artifact, path: '../x' }] }, '/artifacts/0/path MALFORMED'],
    [{ ...succeed, artifacts: [{ ...artifact, sha256: 'A' }] }, '/artifacts/0/sha256 MALFORMED'],
    [{ ...succeed, artifacts: [artifact, artifact] }, '/artifacts/1 DUPLICATE'],
    [{ ...fail, class: 'bad luck' }, '/class NOT_ALLOWED'],
    [{ ...fail, diagnostics: [] }, '/diagnostics WRONG_TYPE'],
  ])('%j is refused', (report, expected) => {
    expect(mistakes(parseReport(report))).toEqual([expected]);
  });

  it('E-07 long words are cut and large diagnostics dropped, so that no end is lost', () => {
    const parsed = parseReport({
      ...fail,
      message: `\u0000\ud800${'x'.repeat(9000)}`,
      diagnostics: { lines: 'y'.repeat(20_000) },
    });
    const value = parsed.ok ? (parsed.value as { message: string; diagnostics: object }) : undefined;
    expect(value?.message).toHaveLength(4000);
    expect(value?.message.startsWith('\ufffd\ufffdxxx')).toBe(true);
    expect(value?.diagnostics).toEqual({ dropped: '20012 bytes, over 16384' });
  });

  it('a batch names the mistakes of each report by its index', () => {
    const parsed = parseReports([of('start'), of('progress', { fraction: 2 }), of('decline')]);
    expect(parsed.ok ? [] : parsed.errors.map(({ pointer }) => pointer)).toEqual(['/1/fraction', '/2/reason']);
    expect(parseReports([of('start'), succeed])).toStrictEqual({ ok: true, value: [of('start'), succeed] });
    expect(parseReports({ 0: of('start') }).ok).toBe(false);
    expect(parseReports(Array.from({ length: 1001 }, () => of('start'))).ok).toBe(false);
  });
});

describe('what people ask of a job', () => {
  it('E-03 a reason is kept, and its absence said', () => {
    expect(parseReason({ reason: ' wrong input ' })).toEqual({ ok: true, value: { reason: 'wrong input' } });
    expect(parseReason(undefined)).toEqual({ ok: true, value: { reason: 'no reason given' } });
    expect(parseReason({ reason: 5 }).ok).toBe(false);
    expect(parseReason({ why: 'x' }).ok).toBe(false);
  });

  it('E-06 a rerun may change fields, a priority lies in 0 to 100', () => {
    expect(parseRerun({ changes: { count: 2 } })).toEqual({ ok: true, value: { changes: { count: 2 } } });
    expect(parseRerun(undefined)).toEqual({ ok: true, value: {} });
    expect(parseRerun({ changes: [] }).ok).toBe(false);
    expect(parsePriority({ priority: 80 })).toEqual({ ok: true, value: { priority: 80 } });
    expect(parsePriority({ priority: 101 }).ok).toBe(false);
    expect(parsePriority(undefined).ok).toBe(false);
  });
});
