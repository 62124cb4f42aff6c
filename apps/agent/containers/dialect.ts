import type { Engine, EngineName } from './engine.js';

/** All in which the engines' command lines differ. */
interface Dialect {
  /** Prints, if it answers at all, the version of what runs the containers, and then what `saysRootless` reads. */
  readonly info: readonly string[];
  readonly saysRootless: (text: string) => boolean;
  /** Whom the task is inside, so that its files are `uid`'s and `gid`'s outside. */
  readonly user: (rootless: boolean, uid: number, gid: number) => readonly string[];
  readonly gpus: (ids: readonly string[]) => readonly string[];
  /** What the other one does without being told. */
  readonly alike: readonly string[];
}

const DIALECTS: Readonly<Record<EngineName, Dialect>> = {
  docker: {
    info: ['info', '--format', '{{.ServerVersion}} {{json .SecurityOptions}}'],
    saysRootless: (text) => text.includes('name=rootless'),
    // The root of a rootless daemon's containers is the user who runs the daemon.
    user: (rootless, uid, gid) => ['--user', rootless ? '0:0' : `${uid}:${gid}`],
    // It reads the option's value as a line of CSV, in which the list of devices is one field.
    gpus: (ids) => (ids.length === 0 ? [] : ['--gpus', `"device=${ids.join(',')}"`]),
    alike: ['--tmpfs', '/run'],
  },
  podman: {
    info: ['info', '--format', '{{.Version.Version}} {{.Host.Security.Rootless}}'],
    saysRootless: (text) => text === 'true',
    user: (rootless, uid, gid) => [...(rootless ? ['--userns=keep-id'] : []), '--user', `${uid}:${gid}`],
    gpus: (ids) => ids.flatMap((id) => ['--device', `nvidia.com/gpu=${id}`]),
    // It would hand on the proxies of whoever calls it.
    alike: ['--http-proxy=false'],
  },
};

export const dialectOf = ({ name }: Pick<Engine, 'name'>): Dialect => DIALECTS[name];
