import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@jest/globals';

/** All of a folder but what is `inside`: what must not be touched, with a file in it that would be worth a theft. */
export class OutsideFolder {
  private before: readonly string[] = [];

  constructor(
    private readonly base: string,
    private readonly inside: string,
  ) {
    mkdirSync(join(base, 'outside'), { recursive: true });
    writeFileSync(join(base, 'outside', 'canary'), 'sings', { mode: 0o640 });
  }

  remember(): void {
    this.before = this.look(this.base);
  }

  /** Nothing more, nothing less, and nothing else: content, mode, names and the times of change. */
  expectUntouched(): void {
    expect(this.before.length).toBeGreaterThan(1);
    expect(this.look(this.base)).toEqual(this.before);
  }

  private look(folder: string): string[] {
    return readdirSync(folder)
      .toSorted()
      .flatMap((name) => {
        const path = join(folder, name);
        if (path === this.inside) return [];
        const found = lstatSync(path);
        const { mode, ino, nlink, uid, size, mtimeMs, ctimeMs } = found;
        const at = `${path} ${[mode, ino, nlink, uid, size, mtimeMs, ctimeMs].join(' ')}`;
        if (found.isDirectory()) return [at, ...this.look(path)];
        return [`${at} ${found.isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'base64')}`];
      });
  }
}
