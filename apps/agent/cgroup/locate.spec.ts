import { describe, expect, it } from '@jest/globals';
import { delegatedFolder, parseMount, parseOwnGroup } from './locate.js';

const UNIFIED = '31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate';
const HYBRID = [
  '30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro',
  '31 30 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw',
  '32 30 0:28 / /sys/fs/cgroup/memory rw shared:10 - cgroup cgroup rw,memory',
].join('\n');
const CONTAINER = '31 24 0:27 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw';
const ONE = '12:memory:/x\n1:name=systemd:/x\n';

describe('the group that was delegated', () => {
  it.each([
    ['a service', '0::/system.slice/escalon.service\n', UNIFIED, '/sys/fs/cgroup/system.slice/escalon.service'],
    [
      'a service with a child for its own',
      '0::/system.slice/e.service/agent\n',
      UNIFIED,
      '/sys/fs/cgroup/system.slice/e.service',
    ],
    ['both versions at once', `${ONE}0::/user.slice\n`, HYBRID, '/sys/fs/cgroup/unified/user.slice'],
    ['a container that sees its own part', '0::/docker/abc/agent\n', CONTAINER, '/sys/fs/cgroup'],
    ['a container that sees itself as the root', '0::/\n', UNIFIED, '/sys/fs/cgroup'],
    ['version 1 only', ONE, HYBRID, undefined],
    ['nothing mounted', '0::/\n', '', undefined],
    ['no Linux', '', '', undefined],
  ])('%s', (_, own, mounts, expected) => expect(delegatedFolder(own, mounts)).toBe(expected));

  it('reads what the kernel writes', () => {
    expect(parseOwnGroup(`${ONE}0::/a b\n`)).toBe('/a b');
    expect(parseMount(HYBRID)).toEqual({ root: '/', at: '/sys/fs/cgroup/unified' });
  });
});
