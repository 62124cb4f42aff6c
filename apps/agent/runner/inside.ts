import { isAbsolute, normalize, sep } from 'node:path';

/**
 * A path inside the task's folder in its normal form, or undefined for one that would leave it: absolute, with `..` above
 * the folder, with a NUL, or empty.
 */
export const insidePath = (path: string): string | undefined => {
  if (path === '' || path.includes('\0') || isAbsolute(path) || path.includes('\\')) return undefined;
  const normal = normalize(path).replace(/\/+$/, '');
  return normal === '' || normal === '.' || normal === '..' || normal.startsWith(`..${sep}`) ? undefined : normal;
};

/** Whether `path` is `folder` or lies below it; both absolute and resolved. */
export const isBelow = (folder: string, path: string): boolean => path === folder || path.startsWith(folder + sep);

/** Ids become folder names, so only plain ones are taken. */
export const isPlainId = (id: string): boolean => /^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$/.test(id);
