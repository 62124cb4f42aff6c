import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AddressPolicy, isAddressRange } from './address-policy.js';

describe('where inputs come from', () => {
  it.each([
    ['93.184.216.34', true],
    ['10.1.2.3', true],
    ['192.168.0.9', true],
    ['2001:db8::1', true],
    ['fd00::9', true],
    ['169.254.169.254', false],
    ['169.254.0.1', false],
    ['127.0.0.1', false],
    ['127.9.9.9', false],
    ['0.0.0.0', false],
    ['100.100.100.200', false],
    ['224.0.0.1', false],
    ['255.255.255.255', false],
    ['::', false],
    ['::1', false],
    ['fe80::1', false],
    ['fe80::1%eth0', false],
    ['fd00:ec2::254', false],
    ['ff02::1', false],
    ['::ffff:169.254.169.254', false],
    ['::ffff:a9fe:a9fe', false],
    ['::ffff:8.8.8.8', true],
    ['64:ff9b::a9fe:a9fe', false],
    ['64:ff9b::808:808', true],
    ['2002:a9fe:a9fe::', false],
    ['2002:808:808::1', true],
    ['localhost', false],
    ['', false],
  ])('%s: %s', (address, expected) => expect(new AddressPolicy().permits(address)).toBe(expected));

  it('the owner’s ranges go before', () => {
    const policy = new AddressPolicy(['127.0.0.0/8', '::1']);
    expect(policy.permits('127.0.0.1')).toBe(true);
    expect(policy.permits('::1')).toBe(true);
    expect(policy.permits('64:ff9b::7f00:1')).toBe(true);
    expect(policy.permits('169.254.169.254')).toBe(false);
  });

  it('no spelling of a link-local address passes', () => {
    const policy = new AddressPolicy();
    const byte = fc.nat({ max: 255 });
    fc.assert(
      fc.property(byte, byte, (third, fourth) => {
        const low = ((third << 8) | fourth).toString(16);
        for (const address of [
          `169.254.${third}.${fourth}`,
          `::ffff:169.254.${third}.${fourth}`,
          `::ffff:a9fe:${low}`,
          `64:ff9b::a9fe:${low}`,
          `64:ff9b::169.254.${third}.${fourth}`,
          `2002:a9fe:${low}::1`,
        ])
          expect([address, policy.permits(address)]).toEqual([address, false]);
      }),
    );
  });

  it.each([
    ['127.0.0.0/8', true],
    ['10.0.0.1', true],
    ['::1/128', true],
    ['fe80::/129', false],
    ['10.0.0.0/33', false],
    ['10.0.0.0/', false],
    ['10.0.0/8', false],
    ['lab.example.org', false],
    ['10.0.0.0/8/8', false],
  ])('%s is a range: %s', (text, expected) => expect(isAddressRange(text)).toBe(expected));
});
