import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { toInstant, toMillis } from '#kernel';
import type { TimeWindow, Weekday } from '#nodes';
import { longestWindow, windowState } from './windows.js';

const DAILY: readonly Weekday[] = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

const window = (from: string, to: string, timeZone = 'UTC', days = DAILY): TimeWindow => ({ days, from, to, timeZone });

const stateAt = (windows: readonly TimeWindow[], time: string) => {
  const { open, closesAt, opensAt } = windowState(windows, toMillis(time));
  return { open, at: Number.isFinite(open ? closesAt : opensAt) ? toInstant(open ? closesAt : opensAt) : 'never' };
};

describe('time windows', () => {
  it('A-26 a window within the day opens at its start and closes at its end', () => {
    const office = [window('09:00', '17:00', 'UTC', ['mon'])];
    expect(stateAt(office, '2026-03-02T08:59:59.999Z')).toEqual({ open: false, at: '2026-03-02T09:00:00.000Z' });
    expect(stateAt(office, '2026-03-02T09:00:00.000Z')).toEqual({ open: true, at: '2026-03-02T17:00:00.000Z' });
    expect(stateAt(office, '2026-03-02T17:00:00.000Z')).toEqual({ open: false, at: '2026-03-09T09:00:00.000Z' });
  });

  it('A-26 a window that crosses midnight belongs to the day it starts on', () => {
    const friday = [window('18:00', '08:00', 'America/Sao_Paulo', ['fri'])];
    expect(stateAt(friday, '2026-03-06T20:59:00.000Z')).toEqual({ open: false, at: '2026-03-06T21:00:00.000Z' });
    expect(stateAt(friday, '2026-03-07T05:00:00.000Z')).toEqual({ open: true, at: '2026-03-07T11:00:00.000Z' });
    expect(stateAt(friday, '2026-03-07T22:00:00.000Z')).toEqual({ open: false, at: '2026-03-13T21:00:00.000Z' });
  });

  it('A-26 a night is an hour shorter when Berlin puts its clocks forward, and longer when it puts them back', () => {
    const nights = [window('22:00', '06:00', 'Europe/Berlin')];
    expect(stateAt(nights, '2026-03-28T21:00:00.000Z')).toEqual({ open: true, at: '2026-03-29T04:00:00.000Z' });
    expect(stateAt(nights, '2026-10-24T20:00:00.000Z')).toEqual({ open: true, at: '2026-10-25T05:00:00.000Z' });
  });

  it('A-26 a start that the clock skips in Berlin is as much later; one that it shows twice is the first', () => {
    expect(stateAt([window('02:30', '05:00', 'Europe/Berlin')], '2026-03-29T00:00:00.000Z')).toEqual({
      open: false,
      at: '2026-03-29T01:30:00.000Z',
    });
    expect(stateAt([window('02:30', '05:00', 'Europe/Berlin')], '2026-10-24T23:00:00.000Z')).toEqual({
      open: false,
      at: '2026-10-25T00:30:00.000Z',
    });
  });

  it('A-26 in São Paulo of 2018 midnight itself was skipped', () => {
    const midnight = [window('00:00', '04:00', 'America/Sao_Paulo')];
    expect(stateAt(midnight, '2018-11-04T02:59:00.000Z')).toEqual({ open: false, at: '2018-11-04T03:00:00.000Z' });
    expect(stateAt(midnight, '2018-11-04T03:30:00.000Z')).toEqual({ open: true, at: '2018-11-04T06:00:00.000Z' });
    const evening = [window('18:00', '08:00', 'America/Sao_Paulo')];
    expect(stateAt(evening, '2018-11-03T22:00:00.000Z')).toEqual({ open: true, at: '2018-11-04T10:00:00.000Z' });
  });

  it('A-26 windows that touch are one, and a week full of them never closes', () => {
    const day = [window('00:00', '12:00'), window('12:00', '00:00')];
    expect(stateAt(day, '2026-03-02T11:00:00.000Z')).toEqual({ open: true, at: 'never' });
    expect(stateAt([window('00:00', '00:00')], '2026-03-02T11:00:00.000Z')).toEqual({ open: true, at: 'never' });
    expect(stateAt([window('00:00', '24:00', 'Europe/Berlin')], '2026-03-29T00:30:00.000Z').at).toBe('never');
  });

  it('A-26 an empty list, and a window that cannot be read, are never open', () => {
    expect(stateAt([], '2026-03-02T11:00:00.000Z')).toEqual({ open: false, at: 'never' });
    expect(stateAt([window('00:00', '23:00', 'Mars/Olympus')], '2026-03-02T11:00:00.000Z').open).toBe(false);
    expect(stateAt([window('0:00', '23:00')], '2026-03-02T11:00:00.000Z').open).toBe(false);
    expect(stateAt([window('00:00', '24:30')], '2026-03-02T11:00:00.000Z').open).toBe(false);
  });

  it('A-26 the longest window bounds what can ever run', () => {
    expect(longestWindow([])).toBe(0);
    expect(longestWindow([window('18:00', '08:00')])).toBe(15 * 3600);
    expect(longestWindow([window('18:00', '18:00', 'UTC', ['sat', 'sun'])])).toBe(49 * 3600);
    expect(longestWindow([window('18:00', '18:00')])).toBe(Infinity);
  });

  it('A-26 a remembered answer is the one that is computed anew', () => {
    const clock = fc.tuple(fc.integer({ min: 0, max: 23 }), fc.constantFrom('00', '30'));
    const time = clock.map(([hour, minute]) => `${String(hour).padStart(2, '0')}:${minute}`);
    const zone = fc.constantFrom('UTC', 'America/Sao_Paulo', 'Europe/Berlin', 'Australia/Lord_Howe', 'Asia/Kathmandu');
    const some = fc.record({ days: fc.subarray([...DAILY]), from: time, to: time, timeZone: zone });
    const start = toMillis('2026-03-20T00:00:00.000Z');
    const moments = fc.array(fc.integer({ min: 0, max: 14 * 96 }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(fc.array(some, { maxLength: 3 }), moments, (windows, steps) => {
        for (const step of steps) {
          const at = start + step * 900_000;
          const { open, opensAt, closesAt } = windowState(windows, at);
          const fresh = windowState([...windows], at);
          expect(open).toBe(fresh.open);
          if (open) expect(closesAt).toBe(fresh.closesAt);
          else expect(opensAt).toBe(fresh.opensAt);
          if (open && Number.isFinite(closesAt)) expect(windowState([...windows], closesAt).open).toBe(false);
          if (!open && Number.isFinite(opensAt)) expect(windowState([...windows], opensAt).open).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });
});
