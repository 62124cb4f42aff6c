const ALIASES = new Map([
  ['x86_64', 'x64'],
  ['x86-64', 'x64'],
  ['amd64', 'x64'],
  ['aarch64', 'arm64'],
  ['arm64e', 'arm64'],
]);

/** One name for each architecture, whatever the operating system calls it: `x86_64`, `amd64` → `x64`; `aarch64` → `arm64`. */
export const foldArchitecture = (name: string): string => {
  const lower = name.toLowerCase();
  return ALIASES.get(lower) ?? lower;
};
