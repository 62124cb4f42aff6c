const ALIASES: Readonly<Record<string, string>> = { x86_64: 'x64', amd64: 'x64', aarch64: 'arm64' };

/** One name for each architecture: `x64`, `arm64`; others as the system calls them. */
export const foldArchitecture = (name: string): string => ALIASES[name.toLowerCase()] ?? name.toLowerCase();
