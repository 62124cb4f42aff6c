const ALIASES: Readonly<Record<string, string>> = {
  x86_64: 'x64',
  'x86-64': 'x64',
  amd64: 'x64',
  aarch64: 'arm64',
  arm64v8: 'arm64',
};

/** One name for each architecture: `x86_64` and `amd64` are `x64`, `aarch64` is `arm64`; others stand as they are. */
export const foldArchitecture = (name: string): string => {
  const plain = name.trim().toLowerCase();
  return Object.hasOwn(ALIASES, plain) ? (ALIASES[plain] ?? plain) : plain;
};
