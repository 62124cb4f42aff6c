import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDataFolder } from './data-folder.js';
import { DataFolderInUse, lockDataFolder } from './lock.js';
import { ensureSecret, writeLocalTokens } from './tokens.js';

describe('the data folder', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'escalon-up-'));
  });
  afterEach(() => rmSync(root, { recursive: true }));

  const modeOf = (path: string): number => statSync(path).mode & 0o777;

  it('refuses a second holder, naming the first and where it answers', async () => {
    const folder = await openDataFolder(root);
    const lock = await lockDataFolder(folder);
    writeFileSync(folder.url, 'http://127.0.0.1:4321\n');
    const second = lockDataFolder(folder);
    await expect(second).rejects.toThrow(DataFolderInUse);
    await expect(second).rejects.toThrow(`pid ${process.pid}`);
    await expect(second).rejects.toThrow('http://127.0.0.1:4321');
    await lock.release();
  });

  it('is free again after the release', async () => {
    const folder = await openDataFolder(root);
    await (await lockDataFolder(folder)).release();
    await (await lockDataFolder(folder)).release();
  });

  it('keeps everything private to its owner', async () => {
    const folder = await openDataFolder(join(root, 'new'));
    await writeLocalTokens(folder, await ensureSecret(folder));
    expect([folder.root, folder.services].map(modeOf)).toEqual([0o700, 0o700]);
    expect([folder.secret, folder.adminToken, folder.enrolToken].map(modeOf)).toEqual([0o600, 0o600, 0o600]);
  });

  it('keeps its secret, so that tokens outlive a restart', async () => {
    const folder = await openDataFolder(root);
    const first = await ensureSecret(folder);
    expect(await ensureSecret(folder)).toBe(first);
    expect(first.length).toBeGreaterThanOrEqual(43);
  });
});
