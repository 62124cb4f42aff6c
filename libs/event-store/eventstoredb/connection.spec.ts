import { describe, expect, it } from '@jest/globals';
import { FakeTime } from '#kernel';
import { forReads, serverOf } from './connection.js';
import { Slots } from './slots.js';

describe('forReads', () => {
  it.each([
    ['esdb://h:1', 'esdb://h:1/?keepAliveInterval=10001'],
    ['esdb://h:1/', 'esdb://h:1/?keepAliveInterval=10001'],
    ['esdb://h:1?tls=false', 'esdb://h:1?tls=false&keepAliveInterval=10001'],
    ['esdb://h:1?keepAliveInterval=20000&tls=false', 'esdb://h:1?keepAliveInterval=20001&tls=false'],
  ])('%s differs so that it has a socket of its own', (given, made) => {
    expect(forReads(given)).toBe(made);
  });
});

describe('serverOf', () => {
  it.each([
    ['esdb://admin:secret@h:1,i:2/?tls=false', 'h:1,i:2'],
    ['esdb+discover://h:1?tls=true', 'h:1'],
  ])('%s is named without its password', (given, made) => {
    expect(serverOf(given)).toBe(made);
  });
});

describe('Slots', () => {
  it('gives places in the order asked, and ends a wait only when nothing is done', async () => {
    const time = new FakeTime();
    const slots = new Slots(1, time);
    expect(await slots.take(10)).toBe(true);
    const outcomes: string[] = [];
    void slots.take(10).then((had) => outcomes.push(`a ${had} ${time.now()}`));
    void slots.take(10).then((had) => outcomes.push(`b ${had} ${time.now()}`));
    await time.advanceAsync(9);
    slots.giveBack(true);
    await time.advanceAsync(5);
    expect(outcomes).toEqual(['a true 9']);
    await time.advanceAsync(100);
    expect(outcomes).toEqual(['a true 9', 'b false 20']);
  });
});
