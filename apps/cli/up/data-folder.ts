import { chmod, mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';

/** Where everything of one system lives. All of it is private to the account that runs it. */
export interface DataFolder {
  readonly root: string;
  readonly lock: string;
  /** Who holds the lock, for the message that another start gets. */
  readonly holder: string;
  readonly secret: string;
  readonly adminToken: string;
  readonly enrolToken: string;
  /** The address of the running system; gone when it is stopped. */
  readonly url: string;
  readonly events: string;
  readonly postgres: string;
  readonly agent: string;
  /** What the services themselves say; `logs` beside it holds what tasks wrote. */
  readonly services: string;
}

export const dataFolderAt = (path: string): DataFolder => {
  const root = resolve(path);
  return {
    root,
    lock: join(root, 'up.lock'),
    holder: join(root, 'up.pid'),
    secret: join(root, 'secret'),
    adminToken: join(root, 'admin.token'),
    enrolToken: join(root, 'enrol.token'),
    url: join(root, 'url'),
    events: join(root, 'events.db'),
    postgres: join(root, 'postgres'),
    agent: join(root, 'agent'),
    services: join(root, 'services'),
  };
};

/** The folder with the sub-folders that services expect, made where they are missing, mode 0700. */
export const openDataFolder = async (path: string): Promise<DataFolder> => {
  const folder = dataFolderAt(path);
  for (const each of [folder.root, folder.services, folder.agent]) await mkdir(each, { recursive: true, mode: 0o700 });
  // A folder that was there before, made by hand say, may be open to others; the whole log is in it.
  await chmod(folder.root, 0o700);
  return folder;
};
