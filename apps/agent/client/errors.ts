/** What an error says of itself, whatever was thrown. */
export const messageOf = (error: unknown): string => {
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined;
  return typeof message === 'string' && message !== '' ? message : String(error);
};

/** The system's code of an error (`ENOENT`, `ENOSPC`, …), or undefined when it carries none. */
export const errorCode = (error: unknown): string | undefined => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
};

const DISK_FULL = new Set(['ENOSPC', 'EDQUOT']);

export const isDiskFull = (error: unknown): boolean => DISK_FULL.has(errorCode(error) ?? '');
