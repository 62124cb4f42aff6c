import { describe, expect, it } from '@jest/globals';
import { runArguments } from './run-arguments.js';
import type { ContainerOf } from './run-arguments.js';

const of = (change: Partial<ContainerOf> = {}): ContainerOf => ({
  name: 'escalon-job1.e1',
  image: 'f0767e',
  command: ['tool', '--privileged'],
  environment: {},
  labels: { 'escalon.agent': 'a1' },
  workFolder: '/data/work',
  mounts: [['/tmp', '/data/tmp']],
  user: { uid: 1000, gid: 100 },
  limits: { memory: 2 ** 30, processes: 64 },
  cpu: 1.5,
  hardCpu: false,
  gpus: [],
  network: undefined,
  ...change,
});

const docker = (change: Partial<ContainerOf> = {}, rootless = false) =>
  runArguments({ name: 'docker', rootless }, of(change));
const podman = (change: Partial<ContainerOf> = {}, rootless = false) =>
  runArguments({ name: 'podman', rootless }, of(change));

/** What follows an option, each time that it is there. */
const after = (args: readonly string[], option: string): string[] =>
  args.flatMap((word, index) => (word === option ? [args[index + 1] ?? ''] : []));

describe('the arguments that run a container', () => {
  it('give it nothing of the machine and no way to more privilege', () => {
    const args = docker();
    expect(args).toEqual(
      expect.arrayContaining(['--cap-drop=ALL', '--security-opt=no-new-privileges', '--read-only', '--pull=never']),
    );
    expect(after(args, '--mount')).toEqual(['type=bind,source=/data/tmp,target=/tmp']);
    expect(after(args, '--label')).toEqual(['escalon.agent=a1']);
    expect(after(args, '--name')).toEqual(['escalon-job1.e1']);
  });

  it('end with the image and the arguments of its program, which are options of nobody’s', () => {
    expect(docker().slice(-4)).toEqual(['--entrypoint', 'tool', 'f0767e', '--privileged']);
    expect(docker({ command: [] }).slice(-1)).toEqual(['f0767e']);
    expect(docker({ command: [] })).not.toContain('--entrypoint');
  });

  it('hand on variables as they are', () => {
    const environment = { A: 'x\ny --privileged', B: '', C: 'k=v' };
    expect(after(podman({ environment }), '--env')).toEqual(['A=x\ny --privileged', 'B=', 'C=k=v']);
  });

  it('hold it to the contract, and a task that nobody is to hold to nothing', () => {
    const args = docker();
    expect(after(args, '--memory')).toEqual(['1073741824b']);
    expect(after(args, '--memory-swap')).toEqual(['1073741824b']);
    expect(after(args, '--pids-limit')).toEqual(['64']);
    expect(after(args, '--cpu-shares')).toEqual(['1536']);
    expect(after(docker({ hardCpu: true }), '--cpus')).toEqual(['1.5']);
    expect(after(docker({ limits: { memory: 5 } }), '--memory')).toEqual([`${6 * 2 ** 20}b`]);
    for (const option of ['--memory', '--pids-limit', '--cpu-shares', '--cpus'])
      expect(docker({ limits: {} })).not.toContain(option);
  });

  it('leave the network to the engine unless the owner names one', () => {
    expect(docker()).not.toContain('--network');
    expect(after(podman({ network: 'none' }), '--network')).toEqual(['none']);
  });
});

/* Devices cannot be tried here: these are the forms that the engines' manuals give. */
describe('where the engines differ', () => {
  it('in how devices are named', () => {
    expect(after(docker({ gpus: ['GPU-1', 'GPU-2'] }), '--gpus')).toEqual(['"device=GPU-1,GPU-2"']);
    expect(after(podman({ gpus: ['GPU-1', 'GPU-2'] }), '--device')).toEqual([
      'nvidia.com/gpu=GPU-1',
      'nvidia.com/gpu=GPU-2',
    ]);
    expect([...docker(), ...podman()].join(' ')).not.toMatch(/--gpus|--device/);
  });

  it('in who the task is inside, so that its files are its user’s outside', () => {
    expect(after(docker(), '--user')).toEqual(['1000:100']);
    expect(after(docker({}, true), '--user')).toEqual(['0:0']);
    expect(after(podman(), '--user')).toEqual(['1000:100']);
    expect(after(podman({}, true), '--user')).toEqual(['1000:100']);
    expect(podman({}, true)).toContain('--userns=keep-id');
    expect(podman()).not.toContain('--userns=keep-id');
  });

  it('in what has to be said to be alike', () => {
    expect(podman()).toContain('--http-proxy=false');
    expect(after(docker(), '--tmpfs')).toEqual(['/run']);
  });
});
