import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Timers } from '#kernel';
import { messageOf } from '../client/errors.js';
import { ControlGroup, wordsOf } from './control-group.js';
import { AGENT_GROUP, delegatedFolder } from './locate.js';

/** What tasks cannot be held to their contract without. */
const NEEDED = ['memory', 'pids'];
const WANTED = [...NEEDED, 'cpu'];
const PREFIX = 'task-';

/** Either the groups, or in plain words why there are none. */
export type FoundGroups = { readonly groups: ControlGroups } | { readonly why: string };

/** The control groups of one agent's tasks, all children of the group that was delegated to it. */
export class ControlGroups {
  private constructor(
    private readonly folder: string,
    private readonly timers: Timers,
  ) {}

  /**
   * Takes charge of a delegated group: `given`, which must hold no process, or the agent's own when the agent is alone in it, in
   * which case it moves into a child of its own first.
   */
  static async open(given: string | undefined, timers: Timers): Promise<FoundGroups> {
    try {
      const folder = given ?? (await ownFolder());
      if (folder === undefined) return { why: 'control groups of version 2 are not mounted' };
      const missing = await lacking(folder);
      if (missing.length > 0) return { why: `${folder} does not delegate ${missing.join(' and ')}` };
      const others = (await wordsOf(join(folder, 'cgroup.procs'))).filter((pid) => pid !== String(process.pid));
      if (others.length > 0) return { why: `${folder} holds other processes, so it is not the agent's to divide` };
      if (given === undefined) await moveInto(join(folder, AGENT_GROUP));
      const there = await wordsOf(join(folder, 'cgroup.controllers'));
      const enabled = WANTED.filter((controller) => there.includes(controller));
      await writeFile(join(folder, 'cgroup.subtree_control'), enabled.map((controller) => `+${controller}`).join(' '));
      return { groups: new ControlGroups(folder, timers) };
    } catch (error) {
      return { why: messageOf(error) };
    }
  }

  of(executionId: string): ControlGroup {
    return new ControlGroup(join(this.folder, PREFIX + executionId), this.timers);
  }

  /** The executions that have a group. */
  async executions(): Promise<string[]> {
    const names = await readdir(this.folder).catch(() => []);
    return names.filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  }
}

const ownFolder = async (): Promise<string | undefined> =>
  delegatedFolder(await read('/proc/self/cgroup'), await read('/proc/self/mountinfo'));

const read = (file: string): Promise<string> => readFile(file, 'utf8').catch(() => '');

const lacking = async (folder: string): Promise<string[]> => {
  const there = await wordsOf(join(folder, 'cgroup.controllers'));
  return NEEDED.filter((controller) => !there.includes(controller));
};

const moveInto = async (folder: string): Promise<void> => {
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'cgroup.procs'), String(process.pid));
};
