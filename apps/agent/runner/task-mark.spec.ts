import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { taskFolder } from './task-folder.js';
import { KnownMarks, limitMark, markOf, parseMark } from './task-mark.js';

const limits = (resident: string): string =>
  [
    'Limit                     Soft Limit           Hard Limit           Units     ',
    'Max cpu time              unlimited            unlimited            seconds   ',
    `Max resident set          ${resident.padEnd(20)} ${resident.padEnd(20)} bytes     `,
    'Max processes             96364                96364                processes ',
  ].join('\n');

describe('the mark of a task’s processes', () => {
  it('is read back from the limits of any process as it was set', () =>
    fc.assert(
      fc.property(fc.string(), fc.stringMatching(/^[a-z0-9.]{1,20}$/), (data, id) => {
        const mark = limitMark(taskFolder(data, id));
        expect(parseMark(limits(String(mark * 1024)))).toBe(mark);
      }),
    ));

  it('tells tasks apart, and agents that run the same execution', () => {
    const marks = ['/a', '/b'].flatMap((data) => ['job1.e1', 'job1.e2'].map((id) => limitMark(taskFolder(data, id))));
    expect(new Set(marks).size).toBe(4);
  });

  it.each(['unlimited', '0', '1073741824', String(2 ** 60)])('a limit of %s is none', (limit) =>
    expect(parseMark(limits(limit))).toBeUndefined(),
  );

  it('is absent from a process that is no task’s, or none', () => {
    expect(markOf(process.pid)).toBeUndefined();
    expect(markOf(2 ** 30)).toBeUndefined();
    expect(parseMark('')).toBeUndefined();
  });

  it('is looked up once for each process, not for each number', () => {
    const marks = new KnownMarks();
    const info = {
      pid: process.pid,
      state: 'S',
      parent: 1,
      group: 1,
      session: 1,
      cpuTicks: 0,
      startTime: 1,
      memory: 0,
    };
    expect([marks.of(info), marks.of(info)]).toEqual([undefined, undefined]);
    marks.keep([]);
    expect(marks.of(info)).toBeUndefined();
  });
});
