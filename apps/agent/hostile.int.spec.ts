import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { makeTaskFolder, removeTaskFolder, taskFolder } from './runner/task-folder.js';
import { AgentWorld } from './testing/agent-world.js';
import { tarGzOf, tarOf, zipOf } from './testing/archives.js';
import { someAssignment } from './testing/assignments.js';
import { eventually } from './testing/eventually.js';
import { contentOf, FileServer } from './testing/file-server.js';

/* Job files and tasks that mean harm. Each way is tried as one would try it, and must meet a clear refusal. */

let world: AgentWorld;

beforeEach(async () => {
  world = await AgentWorld.start();
});

afterEach(() => world.stop());

const failureOf = async (script: string, task: object = {}) => {
  await world.begin();
  world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], task));
  return world.plane.reported('job1.e1', 'fail');
};

describe('outputs', () => {
  it.each([
    ['a path that leads out', 'true', '../../../etc/passwd'],
    ['an absolute path', 'true', '/etc/passwd'],
    ['a pattern that leads out', 'true', '../*/exit'],
    ['a link to a file outside', 'ln -s /etc/passwd out', 'out'],
    ['a path through a link to the root', 'ln -s / root', 'root/etc/passwd'],
    ['a link to a device', 'ln -s /dev/zero out', '*'],
    ['a link to a folder outside', 'ln -s / out', 'o*'],
    ['a link to itself', 'ln -s out out', 'out'],
    ['a pipe', 'mkfifo out', 'out'],
    ['the folder itself, replaced by a link', 'cd ..; rm -r work; ln -s /etc work', 'passwd'],
  ])('%s: nothing is read', async (_, script, output) => {
    const failed = await failureOf(script, { outputs: [output] });
    expect(failed).toMatchObject({ class: 'application', code: 'output-refused' });
    expect(failed.message).toMatch(/^outputs that are not taken: /);
    expect(world.plane.artifacts.size).toBe(0);
  });

  it('a hard link to a file outside: its content may be another’s', async () => {
    writeFileSync(join(world.data, 'another'), 'secret');
    const failed = await failureOf(`ln '${join(world.data, 'another')}' out`, { outputs: ['out'] });
    expect(failed).toMatchObject({
      code: 'output-refused',
      message: expect.stringContaining('out (has a name outside)'),
    });
    expect(world.plane.artifacts.size).toBe(0);
  });

  it('more of them than anyone takes', async () => {
    const failed = await failureOf('mkdir o; cd o; seq 4100 | xargs touch', { outputs: ['o/**'] });
    expect(failed).toMatchObject({ code: 'too-many-outputs', message: '4100 outputs, at most 4000 are taken' });
  });

  it('patterns that would keep a careless matcher busy for ever', async () => {
    await world.begin();
    const outputs = [`${'*a'.repeat(60)}b`, `${'**/'.repeat(60)}x`, '{a,b}'.repeat(60)];
    world.plane.assign(someAssignment('job1.e1', ['touch', 'a'.repeat(250)], { outputs }));
    expect(await world.plane.reported('job1.e1', 'succeed')).toMatchObject({ artifacts: [] });
  });
});

describe('`../../etc/passwd` as output, a symlink to `/`, an input archive with `..`', () => {
  const withArchive = (bytes: Buffer) => {
    const inputs = [{ source: `sha256:${world.plane.store(bytes)}`, path: 'data', unpack: true }];
    return someAssignment('job1.e1', ['sh', '-c', 'cat data/../../../secret'], {}, { inputs });
  };
  const secret = (): string => readFileSync(join(world.data, 'secret'), 'utf8');

  it.each<[string, () => Promise<object> | object, string, RegExp]>([
    [
      'the output',
      () => someAssignment('job1.e1', ['true'], { outputs: ['../../etc/passwd'] }),
      'application output-refused',
      /^outputs that are not taken: \.\.\/\.\.\/etc\/passwd/,
    ],
    [
      'the symlink',
      () => someAssignment('job1.e1', ['ln', '-s', '/', 'root'], { outputs: ['root/etc/passwd'] }),
      'application output-refused',
      /^outputs that are not taken: root\/etc\/passwd/,
    ],
    [
      'the archive',
      async () => withArchive(await tarGzOf({ name: 'a' }, { name: '../../../secret', content: 'mine' })),
      'input archive-entry',
      /^the archive for data is refused: its entry "..\/..\/..\/secret" leads out with \.\.$/,
    ],
    [
      'the symlink in an archive',
      async () =>
        withArchive(
          await tarOf({ name: 'root', type: 'symlink', linkname: '/' }, { name: 'root/tmp/x', content: 'x' }),
        ),
      'input archive-entry',
      /^the archive for data is refused: its entry "root" is a link to the absolute path "\/"$/,
    ],
    [
      'the archive as a zip file',
      () => withArchive(zipOf({ name: '../../../secret', content: 'mine' })),
      'input archive-entry',
      /^the archive for data is refused: its entry "..\/..\/..\/secret" leads out with \.\.$/,
    ],
  ])('%s: refused with a clear error, nothing read or written outside', async (_, assignment, code, message) => {
    writeFileSync(join(world.data, 'secret'), 'theirs');
    await world.begin();
    world.plane.assign((await assignment()) as ReturnType<typeof someAssignment>);
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect([`${failed.class} ${failed.code}`, failed.message]).toEqual([code, expect.stringMatching(message)]);
    expect(world.plane.log('job1.e1', 'stdout')).toBe('');
    const inputs = failed.class === 'input' ? 1 : 0;
    expect([secret(), world.plane.artifacts.size]).toEqual(['theirs', inputs]);
    await eventually(() => readdirSync(join(world.data, 'tasks')).length === 0, 'what was unpacked is gone');
    expect(existsSync('/tmp/x')).toBe(false);
  });
});

describe('an archive as input', () => {
  const MIB = 2 ** 20;
  /** One file of so many MiB, small on the wire. */
  const large = async (mib: number): Promise<Buffer> => {
    const header = (await tarOf({ name: 'zeros', content: Buffer.alloc(MIB) })).subarray(0, 512);
    const size = Buffer.from(header);
    size.write(`${(mib * MIB).toString(8).padStart(11, '0')}\0`, 124);
    size.fill(' ', 148, 156);
    size.write(
      `${size
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    const members = new Array<Buffer>(mib).fill(gzipSync(Buffer.alloc(MIB)));
    return Buffer.concat([gzipSync(size), ...members, gzipSync(Buffer.alloc(1024))]);
  };
  const unpacking = (bytes: Buffer, script: string, disk = 0) => {
    const inputs = [{ source: `sha256:${world.plane.store(bytes)}`, path: 'data', unpack: true }];
    const contract = { cpu: 0.5, memory: 512 * MIB, disk, ioSlots: 0, gpus: [] };
    return someAssignment('job1.e1', ['sh', '-c', script], {}, { inputs, contract });
  };
  const written = (): number =>
    statSync(join(world.data, 'tasks', 'job1.e1', 'work', 'data', 'zeros'), { throwIfNoEntry: false })?.size ?? 0;

  it('is unpacked for each task, and fetched for the first one only', async () => {
    await world.begin();
    const bytes = await tarGzOf({ name: 'bin/say', content: '#!/bin/sh\necho said\n', mode: 0o755 });
    const assignment = unpacking(bytes, 'data/bin/say; echo spoilt > data/bin/say');
    world.plane.assign(assignment);
    const first = await world.plane.reported('job1.e1', 'succeed');
    world.plane.assign({ ...assignment, executionId: 'job2.e1' });
    const second = await world.plane.reported('job2.e1', 'succeed');
    expect([world.plane.log('job1.e1', 'stdout'), world.plane.log('job2.e1', 'stdout')]).toEqual(['said\n', 'said\n']);
    expect([first.consumption.bytesIn, second.consumption.bytesIn]).toEqual([bytes.length, 0]);
  });

  it('from the web without a digest is fetched and unpacked for each task', async () => {
    const server = await FileServer.start();
    server.put('/a', contentOf(zipOf({ name: 'n.csv', content: '1' })));
    await world.begin({ allowHttp: true, allowAddresses: ['127.0.0.1'] });
    const inputs = [{ source: server.url('/a'), path: 'data', unpack: true }];
    for (const id of ['job1.e1', 'job2.e1']) {
      world.plane.assign(someAssignment(id, ['cat', 'data/n.csv'], {}, { inputs }));
      await world.plane.reported(id, 'succeed');
      expect(world.plane.log(id, 'stdout')).toBe('1');
    }
    expect(server.requests).toEqual(['GET /a', 'GET /a']);
    expect(readdirSync(join(world.data, 'cache', 'partial'))).toEqual([]);
    await server.close();
  });

  it('never unpacks to more than the contract’s disk, and what it took counts', async () => {
    await world.begin({ limits: { enforce: 'watchdog' } });
    const [a, b] = ['a', 'b'].map((name) => ({ name, content: Buffer.alloc(5 * MIB) }));
    world.plane.assign(unpacking(await tarGzOf(a!, b!), 'true', 8 * MIB));
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed).toMatchObject({
      class: 'input',
      code: 'archive-too-large',
      message:
        'the archive for data is refused: it unpacks to more than 8 MiB, which is left of the disk that the job asks for',
    });
    expect(failed.consumption?.maxDisk).toBe(5 * MIB);
    await eventually(() => readdirSync(join(world.data, 'tasks')).length === 0, 'the folder is gone');
  });

  it('nor than its node’s owner allows', async () => {
    await world.begin({ largestUnpacked: 4 * MIB, mostUnpacked: 2 });
    world.plane.assign(unpacking(await large(5), 'true'));
    const failed = await world.plane.reported('job1.e1', 'fail');
    expect(failed.message).toMatch(/ it unpacks to more than 4 MiB, the most that this node unpacks$/);
  });

  it('is let be when the task is stopped, and leaves nothing', async () => {
    await world.begin();
    world.plane.assign(unpacking(await large(20_000), 'true'));
    await eventually(() => written() > 0, 'unpacking has begun');
    world.plane.desire('job1.e1', 'stop');
    expect(await world.plane.reported('job1.e1', 'fail')).toMatchObject({ class: 'cancelled', code: 'stopped' });
    await eventually(() => readdirSync(join(world.data, 'tasks')).length === 0, 'the folder is gone');
    expect(written()).toBe(0);
  });

  it('is begun anew by the agent that comes after', async () => {
    const first = await world.begin({ detach: true });
    world.plane.assign(unpacking(await large(400), 'wc -c < data/zeros; ls data'));
    await eventually(() => written() > 0, 'unpacking has begun');
    await first.stop();
    await world.begin();
    const { consumption } = await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe(`${400 * MIB}\nzeros\n`);
    expect(consumption.maxDisk).toBeGreaterThanOrEqual(400 * MIB);
  });

  it('is its task user’s, where there is one', async () => {
    const bytes = await tarOf(
      { name: 'd/f', content: 'x', mode: 0o4644 },
      { name: 'l', type: 'symlink', linkname: 'd' },
    );
    if (process.getuid?.() !== 0) return expect(world.begin({ taskUser: 'nobody' })).rejects.toThrow(/runs as root/);
    await world.begin({ taskUser: 'nobody' });
    const look = 'stat -c "%U %a" data data/d data/d/f; stat -c %U data/l; echo y > data/l/f && cat data/d/f';
    world.plane.assign(unpacking(bytes, look));
    await world.plane.reported('job1.e1', 'succeed');
    expect(world.plane.log('job1.e1', 'stdout')).toBe('nobody 700\nnobody 755\nnobody 644\nnobody\ny\n');
  });
});

describe('the environment of a job', () => {
  it('is in force for the task only, not for what starts it', async () => {
    await world.begin();
    const env = {
      LD_PRELOAD: '/nowhere.so',
      BASH_ENV: '/nowhere',
      PS4: '$(touch stolen)',
    };
    world.plane.assign(someAssignment('job1.e1', ['/usr/bin/env'], { env, outputs: ['stolen*'] }));

    expect(await world.plane.reported('job1.e1', 'succeed')).toMatchObject({ artifacts: [] });
    expect(world.plane.log('job1.e1', 'stdout').split('\n')).toEqual(
      expect.arrayContaining(Object.entries(env).map(([name, value]) => `${name}=${value}`)),
    );
    // The loader complains in each program that it applies to: here in one, the task itself.
    expect(world.plane.log('job1.e1', 'stderr').match(/nowhere\.so/g)).toHaveLength(1);
  });

  it('cannot tell the task another contract, nor hide its processes', async () => {
    await world.begin();
    const env = { ESCALON_MEMORY: '1', ESCALON_PROGRESS_FILE: '/tmp/elsewhere', ESCALON_EXECUTION_ID: 'job2.e1' };
    world.plane.assign(someAssignment('job1.e1', ['/usr/bin/env'], { env }));
    await world.plane.reported('job1.e1', 'succeed');
    const lines = world.plane.log('job1.e1', 'stdout').split('\n');
    for (const [name, value] of Object.entries(env)) expect(lines).not.toContain(`${name}=${value}`);
  });
});

describe('what a task leaves', () => {
  it.each([
    ['folders that nobody may enter', 'mkdir -p a/b; touch a/b/c; chmod 000 a/b a .'],
    [
      'a path longer than any call takes',
      `python3 -c "import os
for _ in range(600): os.mkdir('a' * 10); os.chdir('a' * 10)"`,
    ],
  ])('%s: is removed all the same', async (_, script) => {
    const folder = taskFolder(world.data, 'job1.e1');
    await makeTaskFolder(folder);
    execFileSync('sh', ['-c', script], { cwd: folder.work });
    await removeTaskFolder(folder);
    expect(existsSync(folder.root)).toBe(false);
  });

  it('a link in place of its folder: what it leads to stays', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'escalon-outside-'));
    writeFileSync(join(outside, 'kept'), '');
    const folder = taskFolder(world.data, 'job1.e1');
    mkdirSync(folder.root, { recursive: true });
    symlinkSync(outside, folder.work);
    await removeTaskFolder(folder);
    expect(existsSync(join(outside, 'kept'))).toBe(true);
    await rm(outside, { recursive: true });
  });
});

describe('secrets', () => {
  it('are in no environment that a task can read, and in files that no other user can', async () => {
    const settings = { cpu: 4, memory: '8GiB', applications: [], packages: [], gpus: [], probes: { python: false } };
    const config = join(world.data, 'agent.json');
    await writeFile(config, JSON.stringify(settings));
    const args = ['dist/apps/agent/main.js', '--url', world.plane.url, '--data', world.data, '--name', 'lab-1'];
    const env = { PATH: process.env['PATH'], ESCALON_TOKEN: 'the-token-of-enrolment' };
    const agent = spawn(process.execPath, [...args, '--config', config], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    try {
      await once(agent.stdout, 'data');
      expect(world.plane.enrolTokens).toEqual(['Bearer the-token-of-enrolment']);
      const script =
        "cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -c '^ESCALON_TOKEN=the-token-of' ; true";
      world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script]));
      await world.plane.reported('job1.e1', 'succeed');
      expect(world.plane.log('job1.e1', 'stdout')).toBe('0\n');
      expect(statSync(join(world.data, 'identity.json')).mode & 0o777).toBe(0o600);
      expect(statSync(join(world.data, 'journal')).mode & 0o777).toBe(0o700);
    } finally {
      const gone = once(agent, 'exit');
      agent.kill('SIGTERM');
      await gone;
    }
  });
});

describe('a user of their own for tasks', () => {
  const asRoot = process.getuid?.() === 0;

  it('keeps them from the agent’s files and from more privilege, and lets them work', async () => {
    if (!asRoot) return expect(world.begin({ taskUser: 'nobody' })).rejects.toThrow(/runs as root/);
    await world.begin({ taskUser: 'nobody' });
    const script = `
      id -un; cat in; echo out > out; echo '0.5 half' > "$ESCALON_PROGRESS_FILE"; echo err >&2
      cat '${world.data}/identity.json' 2>/dev/null && echo read the token
      ls '${world.data}' 2>/dev/null && echo listed the data
      mv ../stdout ../gone 2>/dev/null && echo moved the log
      echo 9 > ../exit 2>/dev/null; kill -9 $PPID 2>/dev/null
      grep NoNewPrivs /proc/self/status; ls -ln out | cut -d' ' -f3`;
    const sha256 = world.plane.store('input\n');
    const inputs = [{ source: `sha256:${sha256}`, path: 'in' }];
    const env = { LD_PRELOAD: '/nowhere.so' };
    world.plane.assign(someAssignment('job1.e1', ['sh', '-c', script], { outputs: ['out'], env }, { inputs }));

    expect(await world.plane.reported('job1.e1', 'succeed')).toMatchObject({ artifacts: [{ path: 'out', size: 4 }] });
    expect(world.plane.log('job1.e1', 'stdout')).toMatch(/^nobody\ninput\nNoNewPrivs:\t1\n65534\n$/);
    expect(world.plane.log('job1.e1', 'stderr')).toContain('err\n');
    expect(world.plane.typesOf('job1.e1')).toContain('progress');
  });

  it('has to be one that there is', async () => {
    if (!asRoot) return expect(world.begin({ taskUser: 'nobody' })).rejects.toThrow(/runs as root/);
    await expect(world.begin({ taskUser: 'no-such-user' })).rejects.toThrow(
      'taskUser no-such-user: there is no such user',
    );
  });
});
