import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { AssignedTask } from '#contracts';
import type { AgentOptions } from './agent.js';
import { isStopped } from './runner/process-table.js';
import { AgentWorld, own, running } from './testing/agent-world.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';
import { OWN, startEngine, TINY } from './testing/real-engine.js';

/* Tasks in containers of real engines; where a machine has none, a line says so. */

const MIB = 2 ** 20;
const ENGINES = (await Promise.all([startEngine('podman'), startEngine('docker')])).flatMap((engine) => {
  if (typeof engine !== 'string') return [engine];
  process.stderr.write(`skipped: tasks in containers of one engine: ${engine}\n`);
  return [];
});

const withEngines = ENGINES.length > 0 ? describe.each(ENGINES) : describe.skip.each([{ name: 'no engine' } as never]);

withEngines('tasks in containers of $name', (engine) => {
  let world: AgentWorld;
  const options = { engine: engine.name, path: engine.program, network: 'none' } as const;

  /** An agent that has found the engine. */
  const begin = async (more: Partial<AgentOptions> = {}): Promise<void> => {
    world = await AgentWorld.start();
    await chmod(world.data, 0o711);
    const agent = await world.begin({ containers: options, grace: 20_000, ...more });
    await agent.probe();
    expect(world.plane.inventories.at(-1)?.container).toMatchObject({ engine: engine.name });
  };

  afterAll(() => engine.stop());

  const assign = (id: string, script: string, task: Partial<AssignedTask> = {}, memory = 128 * MIB): void =>
    world.plane.assign(
      someAssignment(
        id,
        ['sh', '-c', script],
        { image: TINY, ...task },
        { contract: { cpu: 0.5, memory, disk: 0, ioSlots: 0, gpus: [] } },
      ),
    );

  /** Those of tasks: an agent may be about to try its engine. */
  const containers = async (): Promise<string[]> =>
    (await engine.call('ps', '--all', '--format', '{{.Names}}'))
      .split('\n')
      .filter((name) => /^escalon-\w+\.e1$/.test(name));

  describe('beside one another', () => {
    beforeAll(() => begin());

    afterAll(() => world.stop());

    it('run in the task’s folder, with its environment and no privilege, and are put away', async () => {
      const env = { ODD: 'a\n--privileged "b" $HOME', PATH: '/bin' };
      const script = `echo "$ODD"; echo "$ESCALON_JOB_ID \${ESCALON_TOKEN:-none}"; id -u; pwd
        grep -h CapEff /proc/self/status; grep -h NoNewPrivs /proc/self/status
        touch /new 2> refused || echo read-only; touch /tmp/x && ls "$TMPDIR/x"; echo 0.5 half >> "$ESCALON_PROGRESS_FILE"
        echo warned >&2; echo 42 > out; exit 0`;
      assign('job11.e1', script, { env, outputs: ['out'] });

      const succeeded = await world.plane.reported('job11.e1', 'succeed');
      expect(succeeded).toMatchObject({ exitCode: 0, artifacts: [{ path: 'out', size: 3 }] });
      const work = join(world.data, 'tasks', 'job11.e1', 'work');
      expect(world.plane.log('job11.e1', 'stdout').split('\n')).toEqual([
        ...['a', '--privileged "b" $HOME', 'job11 none', '0', work],
        ...[
          'CapEff:\t0000000000000000',
          'NoNewPrivs:\t1',
          'read-only',
          join(world.data, 'tasks', 'job11.e1', 'tmp', 'x'),
          '',
        ],
      ]);
      expect(world.plane.log('job11.e1', 'stderr')).toBe('warned\n');
      expect(world.plane.typesOf('job11.e1')).toEqual(['confirm', 'start', 'progress', 'publish', 'succeed']);
      expect(await containers()).toEqual([]);
    });

    it('run the image’s own program where the job names none', async () => {
      world.plane.assign(someAssignment('job21.e1', [], { image: OWN }));
      await world.plane.reported('job21.e1', 'succeed');
      expect(world.plane.log('job21.e1', 'stdout')).toBe('its own\n');
    });

    it('fail as they ended, with the image that ran', async () => {
      assign('job31.e1', 'echo broken >&2; exit 5');
      const failed = await world.plane.reported('job31.e1', 'fail');
      expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 5 });
      expect(failed.diagnostics).toMatchObject({ stderr: ['broken'], image: { reference: TINY } });
      expect(failed.diagnostics?.['image']).toHaveProperty('id', expect.stringMatching(/^[0-9a-f]{64}$/));
      world.plane.assign(someAssignment('job32.e1', ['no-such'], { image: TINY }));
      const missing = await world.plane.reported('job32.e1', 'fail');
      expect(missing).toMatchObject({ class: 'application', code: 'command-not-found' });
      expect(missing.message).toBe('no-such: no such file or directory in the image');
    });

    it('are ended when they take more memory than their contract', async () => {
      assign('job41.e1', 'exec dd if=/dev/zero of=/dev/null bs=400M count=3', {}, 64 * MIB);
      const failed = await world.plane.reported('job41.e1', 'fail');
      expect(failed).toMatchObject({ class: 'resource', code: 'out-of-memory', exitCode: 137 });
      expect(failed.diagnostics?.['peakMemory']).toBeGreaterThan(0);
    });

    it('are input failures without the image', async () => {
      assign('job51.e1', 'true', { image: 'localhost:1/absent:1' });
      const failed = await world.plane.reported('job51.e1', 'fail');
      expect(failed).toMatchObject({ class: 'input', code: 'image-unavailable' });
      expect(failed.message).toMatch(/^the image localhost:1\/absent:1 cannot be had: /);
      assign('job52.e1', 'true', { image: '--privileged' });
      expect(await world.plane.reported('job52.e1', 'fail')).toMatchObject({
        class: 'input',
        code: 'image-unavailable',
      });
      expect(world.plane.typesOf('job51.e1')).toEqual(['confirm', 'prepare', 'fail']);
    });

    it('do not let outputs lead out of the task’s folder', async () => {
      assign('job61.e1', 'ln -s /etc/passwd out', { outputs: ['out'] });
      const failed = await world.plane.reported('job61.e1', 'fail');
      expect(failed).toMatchObject({ class: 'application', code: 'output-refused', artifacts: [] });
    });

    it('stand still when paused, go on, and are gone when stopped', async () => {
      assign('job71.e1', `echo up; setsid sleep ${own('91.5')} & sleep ${own('91.5')}`);
      await world.plane.until(() => world.plane.log('job71.e1', 'stdout') === 'up\n', 'it is up');
      world.plane.desire('job71.e1', 'pause');
      await world.plane.reported('job71.e1', 'pause');
      expect(running(own('91.5')).length).toBeGreaterThanOrEqual(2);
      expect(running(own('91.5')).filter((each) => !isStopped(each))).toEqual([]);
      world.plane.desire('job71.e1', 'run');
      await world.plane.reported('job71.e1', 'resume');
      await eventually(() => running(own('91.5')).every((each) => !isStopped(each)), 'it goes on');
      world.plane.desire('job71.e1', 'stop');
      expect(await world.plane.reported('job71.e1', 'fail')).toMatchObject({ class: 'cancelled', code: 'stopped' });
      expect(running(own('91.5'))).toEqual([]);
      expect(await containers()).toEqual([]);
    });

    it('hear of their end once, and may use the grace', async () => {
      assign('job81.e1', `trap 'echo told; exit 3' TERM; echo up; while :; do sleep 0.1; done`);
      await world.plane.until(() => world.plane.log('job81.e1', 'stdout') === 'up\n', 'it is up');
      world.plane.desire('job81.e1', 'stop');
      await world.plane.reported('job81.e1', 'fail');
      expect(world.plane.log('job81.e1', 'stdout')).toBe('up\ntold\n');
    });
  });

  describe('and an agent that was killed', () => {
    let agents: ChildProcess[];

    beforeEach(async () => {
      world = await AgentWorld.start();
      agents = [];
    });

    afterEach(async () => {
      for (const agent of agents.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)) {
        agent.kill('SIGTERM');
        await once(agent, 'exit');
      }
      await world.stop();
    });

    const start = async (): Promise<ChildProcess> => {
      const config = join(world.data, 'agent.json');
      const found = { applications: [], packages: [], gpus: [], probes: { python: false } };
      await writeFile(config, JSON.stringify({ ...found, containers: options, grace: '300ms', drain: '0s' }));
      const args = ['--url', world.plane.url, '--data', world.data, '--name', 'lab-1', '--config', config];
      const agent = spawn(process.execPath, ['dist/apps/agent/main.js', ...args], {
        env: { PATH: process.env['PATH'], ESCALON_TOKEN: 'let-me-in' },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      agents.push(agent);
      await once(agent.stdout, 'data');
      return agent;
    };

    it('leaves a container that the next one takes back, and removes the others', async () => {
      // What the last agent found of the engine, the next one knows from its start.
      const before = await world.begin({ containers: options });
      await before.probe();
      await before.stop();
      const first = await start();
      assign('job1.e1', 'echo up; while [ ! -e go ]; do sleep 0.05; done; echo end; exit 4');
      await world.plane.until(() => world.plane.log('job1.e1', 'stdout') === 'up\n', 'it is up');
      const label = await engine.call(
        'inspect',
        '--format',
        '{{index .Config.Labels "escalon.agent"}}',
        'escalon-job1.e1',
      );
      const ghost = ['--label', `escalon.agent=${label.trim()}`, '--name', 'escalon-ghost.e1', '--network', 'none'];
      await engine.call('run', '--detach', ...ghost, '--entrypoint', '/bin/sleep', TINY, own('92.5'));
      const gone = once(first, 'exit');
      first.kill('SIGKILL');
      await gone;

      await start();
      expect(await containers()).toEqual(['escalon-job1.e1']);
      expect(running(own('92.5'))).toEqual([]);
      const work = join(world.data, 'tasks', 'job1.e1', 'work');
      await writeFile(join(work, 'go'), '');
      const failed = await world.plane.reported('job1.e1', 'fail');
      expect(failed).toMatchObject({ class: 'application', code: 'exit-code', exitCode: 4 });
      expect(world.plane.log('job1.e1', 'stdout')).toBe('up\nend\n');
      expect(world.plane.typesOf('job1.e1')).toEqual(['confirm', 'start', 'fail']);
      await world.plane.until(() => !existsSync(join(world.data, 'journal', 'job1.e1.json')), 'it is put away');
      expect(await containers()).toEqual([]);
    });
  });

  describe('and a task user', () => {
    beforeAll(() => begin({ taskUser: 'nobody' }));

    afterAll(() => world.stop());

    it('run as that user, whose files the agent removes', async () => {
      assign('job1.e1', 'id -u; cat /etc/shadow; echo 1 > out; ls -ln out', {
        outputs: ['out'],
        env: { PATH: '/bin' },
      });
      await world.plane.reported('job1.e1', 'succeed');
      expect(world.plane.log('job1.e1', 'stdout')).toMatch(/^65534\n-rw-\S+ +1 65534 +65534 /);
      await world.plane.until(() => !existsSync(join(world.data, 'tasks', 'job1.e1')), 'its folder is gone');
    });
  });
});

describe('a node without an engine', () => {
  let world: AgentWorld;

  beforeEach(async () => {
    world = await AgentWorld.start();
  });

  afterEach(() => world.stop());

  it('reports none, and fails what needs one as its own trouble', async () => {
    const agent = await world.begin({ containers: { engine: 'podman', path: '/nowhere/podman' } });
    await agent.probe();
    expect(world.plane.enrolments[0]?.inventory).not.toHaveProperty('container');
    world.plane.assign(someAssignment('job1.e1', ['true'], { image: TINY }));
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({ class: 'infrastructure', code: 'no-container-engine' });
  });
});
