import { describe, expect, it } from '@jest/globals';
import { NO_METADATA } from '../log/stream-metadata.js';
import type { Acl, SystemSettings } from '../log/stream-metadata.js';
import { mayAccess } from './permissions.js';
import type { AclSource, Caller } from './permissions.js';
import { Authenticator, parseUsers } from './users.js';

const source = (acls: Readonly<Record<string, Acl>> = {}, settings: SystemSettings = {}): AclSource => ({
  metadataOf: (stream) => (acls[stream] ? { softDeleted: false, acl: acls[stream] } : NO_METADATA),
  settings: () => settings,
});

const admin: Caller = { name: 'root', groups: ['$admins'] };
const ana: Caller = { name: 'ana', groups: ['lab'] };

describe('access', () => {
  it.each([
    ['a user stream, an account', ana, 'write', 's', true],
    ['a user stream, nobody known', 'anonymous', 'write', 's', false],
    ['a system stream, an account', ana, 'read', '$s', false],
    ['a system stream, an administrator', admin, 'write', '$s', true],
    ['$all, an account', ana, 'read', '$all', false],
    ['$all, an administrator', admin, 'read', '$all', true],
    ['writing $all, an administrator', admin, 'write', '$all', false],
    ['writing $all, trusted', 'trusted', 'write', '$all', false],
    ['metadata of a user stream, an account', ana, 'write', '$$s', true],
    ['metadata of a system stream, an account', ana, 'read', '$$$s', false],
    ['deleting metadata, an administrator', admin, 'delete', '$$s', false],
  ] as const)('by default: %s', (_what, caller, operation, stream, allowed) => {
    expect(mayAccess(caller, operation, stream, source())).toBe(allowed);
  });

  it('asks the stream, then the settings, then the default, right by right', () => {
    const acls = source({ s: { write: ['lab'] } }, { userStreamAcl: { read: ['bob'], write: ['bob'] } });
    const rights = (caller: Caller) =>
      (['read', 'write', 'delete'] as const).map((operation) => mayAccess(caller, operation, 's', acls));
    expect(rights(ana)).toEqual([false, true, true]);
    expect(rights({ name: 'bob', groups: [] })).toEqual([true, false, true]);
  });

  it('opens what is open to everyone to callers without credentials only when asked to', () => {
    expect(mayAccess('anonymous', 'read', 's', source(), true)).toBe(true);
    expect(mayAccess('anonymous', 'read', 's', source({ s: { read: ['lab'] } }), true)).toBe(false);
  });
});

describe('accounts', () => {
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
  const authenticator = new Authenticator(parseUsers({ users: [{ name: 'ops', password: 'a:b ü' }] }));

  it('are known by name and password, which may hold colons', () => {
    expect(authenticator.check(basic('ops:a:b ü'))).toEqual({ name: 'ops', groups: ['$ops'] });
    for (const header of [basic('ops:a'), basic('ops'), basic(':'), basic('x:'), 'Bearer abc', 'Basic', '']) {
      expect(authenticator.check(header)).toBeUndefined();
    }
  });

  it.each([
    [null, /expected \{"users"/],
    [{ users: [] }, /at least one/],
    [{ users: [{ password: 'x' }] }, /users\[0\]\.name/],
    [{ users: [{ name: 'a:b', password: 'x' }] }, /users\[0\]\.name/],
    [{ users: [{ name: 'a' }] }, /users\[0\]\.password/],
    [{ users: [{ name: 'a', password: 'x', groups: 'g' }] }, /users\[0\]\.groups/],
    [
      {
        users: [
          { name: 'a', password: 'x' },
          { name: 'a', password: 'y' },
        ],
      },
      /user a is there twice/,
    ],
  ])('are refused from %j with what is wrong', (value, reason) => expect(() => parseUsers(value)).toThrow(reason));
});
