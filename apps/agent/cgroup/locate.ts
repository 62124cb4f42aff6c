import { basename, dirname, resolve } from 'node:path';

/** The group, below the one that was delegated, in which the agent itself lives. A group with children may hold no process. */
export const AGENT_GROUP = 'agent';

/** This process's group of the unified hierarchy in the text of `/proc/self/cgroup`: a path below the mount. */
export const parseOwnGroup = (text: string): string | undefined => /^0::(\/.*)$/m.exec(text)?.[1];

/** Where version 2 is mounted, and which of its groups is seen there, in the text of `/proc/self/mountinfo`. */
export const parseMount = (mountinfo: string): { readonly root: string; readonly at: string } | undefined => {
  for (const line of mountinfo.split('\n')) {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, at] = before.split(' ');
    if (after.startsWith('cgroup2 ') && root !== undefined && at !== undefined) return { root, at };
  }
  return undefined;
};

/**
 * The folder of the group whose children the agent makes: its own group or, when its service manager or an earlier start has
 * put it into a group for it alone, that one's parent. undefined without version 2.
 */
export const delegatedFolder = (ownGroup: string, mountinfo: string): string | undefined => {
  const group = parseOwnGroup(ownGroup);
  const mount = parseMount(mountinfo);
  if (group === undefined || !mount) return undefined;
  const inside = mount.root !== '/' && group.startsWith(mount.root) ? group.slice(mount.root.length) : group;
  const own = resolve(mount.at, `.${inside}`);
  return basename(own) === AGENT_GROUP ? dirname(own) : own;
};
