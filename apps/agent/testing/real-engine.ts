import { execFile, execFileSync, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmod, copyFile, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { systemTimers } from '#kernel';
import { wait } from '../client/wait.js';
import type { EngineName } from '../containers/engine.js';

const run = promisify(execFile);

/** What each engine is made of; busybox has to be the static one. */
const PROGRAMS: Readonly<Record<EngineName, readonly string[]>> = {
  podman: ['podman', 'runc', 'busybox', 'tar'],
  docker: ['docker', 'dockerd', 'busybox', 'tar'],
};
const TOOLS = ['sh', 'id', 'cat', 'ls', 'sleep', 'dd', 'echo', 'grep', 'touch', 'ln', 'env', 'pwd', 'setsid', 'true'];

/** With a shell and some tools; the other one also with a program of its own. */
export const TINY = 'localhost/tiny:1';
export const OWN = 'localhost/own:1';

/** A real engine with a store of its own, and two images. */
export interface RealEngine {
  readonly name: EngineName;
  /** The engine's program, which knows the store. */
  readonly program: string;
  call(...args: readonly string[]): Promise<string>;
  stop(): Promise<void>;
}

/** Starts an engine, or says in plain words why this machine has none to test with. */
export const startEngine = async (name: EngineName): Promise<RealEngine | string> => {
  if (process.getuid?.() !== 0) return `only root can have a ${name} of its own here`;
  const missing = PROGRAMS[name].filter((program) => !isThere(program));
  if (missing.length > 0) return `${missing.join(' and ')} not installed`;
  const folder = await mkdtemp(join(tmpdir(), `escalon-${name}-`));
  const daemon = name === 'docker' ? startDaemon(folder) : undefined;
  const engine = await engineIn(name, folder, daemon);
  try {
    if (daemon) await answers(engine);
    await importImages(engine, folder);
    await engine.call('run', '--rm', '--network', 'none', '--init', '--memory', '64m', TINY, '/bin/true');
    return engine;
  } catch (error) {
    await engine.stop();
    return `${name} does not work here: ${String(error)}`;
  }
};

const isThere = (program: string): boolean => {
  try {
    execFileSync('/bin/sh', ['-c', 'command -v "$0"', program]);
    return true;
  } catch {
    return false;
  }
};

/** A script in place of the engine's program: what an owner would put into the engine's own configuration. */
const engineIn = async (name: EngineName, folder: string, daemon: ChildProcess | undefined): Promise<RealEngine> => {
  const program = join(folder, name);
  const settings = name === 'docker' ? dockerSettings(folder) : await podmanSettings(folder);
  await writeFile(program, `#!/bin/sh\n${settings} exec ${name} "$@"\n`);
  await chmod(program, 0o755);
  const stop = async (): Promise<void> => {
    if (daemon?.exitCode === null) {
      daemon.kill('SIGTERM');
      await once(daemon, 'exit');
    }
    await rm(folder, { recursive: true, force: true });
  };
  const call = async (...args: readonly string[]): Promise<string> => (await run(program, args)).stdout;
  return { name, program, call, stop };
};

const dockerSettings = (folder: string): string => `DOCKER_HOST=unix://${folder}/docker.sock`;

/** Without limits of its own podman asks for more than a test machine may grant. */
const podmanSettings = async (folder: string): Promise<string> => {
  const [engine, storage] = [join(folder, 'containers.conf'), join(folder, 'storage.conf')];
  const limits = 'default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]';
  await writeFile(engine, `[containers]\n${limits}\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n`);
  const places = `runroot = "${folder}/run"\ngraphroot = "${folder}/storage"`;
  await writeFile(storage, `[storage]\ndriver = "vfs"\n${places}\n`);
  return `CONTAINERS_CONF=${engine} CONTAINERS_STORAGE_CONF=${storage}`;
};

const startDaemon = (folder: string): ChildProcess => {
  const places = ['--data-root', 'data', '--exec-root', 'exec', '--pidfile', 'pid'].map((word, index) =>
    index % 2 === 0 ? word : join(folder, word),
  );
  const plain = ['--iptables=false', '--bridge=none', '--storage-driver=vfs'];
  return spawn('dockerd', [...plain, ...places, '--host', `unix://${folder}/docker.sock`], { stdio: 'ignore' });
};

const ROUNDS = 300;

const answers = async (engine: RealEngine): Promise<void> => {
  for (let round = 0; ; round += 1) {
    try {
      await engine.call('version');
      return;
    } catch (error) {
      if (round === ROUNDS) throw error;
      await wait(systemTimers, 100);
    }
  }
};

const importImages = async (engine: RealEngine, folder: string): Promise<void> => {
  const root = join(folder, 'root');
  await mkdir(join(root, 'bin'), { recursive: true });
  await copyFile(execFileSync('/bin/sh', ['-c', 'command -v busybox']).toString().trim(), join(root, 'bin', 'busybox'));
  for (const tool of TOOLS) await symlink('busybox', join(root, 'bin', tool));
  const archive = join(folder, 'root.tar');
  await run('tar', ['-C', root, '-cf', archive, '.']);
  await engine.call('import', archive, TINY);
  await engine.call('import', '--change', 'ENTRYPOINT ["/bin/echo", "its own"]', archive, OWN);
};
