import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';

/** Who this machine is to the control plane. The token is a secret: the file is readable by its owner only. */
export interface Identity {
  readonly name: string;
  readonly nodeId: string;
  readonly token: string;
}

const path = (data: string): string => join(data, 'identity.json');

/** The identity kept in the data folder, or undefined for a machine that never enrolled under this name. */
export const readIdentity = async (data: string, name: string): Promise<Identity | undefined> => {
  const text = await readFile(path(data), 'utf8').catch(() => '{}');
  try {
    const found = JSON.parse(text) as Partial<Identity>;
    const { nodeId, token } = found;
    return found.name === name && nodeId && token ? { name, nodeId, token } : undefined;
  } catch {
    return undefined;
  }
};

export const writeIdentity = async (data: string, identity: Identity): Promise<void> => {
  await mkdir(data, { recursive: true, mode: 0o700 });
  const file = await open(`${path(data)}.tmp`, 'w', 0o600);
  try {
    await file.writeFile(JSON.stringify(identity));
    await file.sync();
  } finally {
    await file.close();
  }
  await chmod(`${path(data)}.tmp`, 0o600);
  await rename(`${path(data)}.tmp`, path(data));
};
