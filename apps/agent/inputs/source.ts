import type { AssignedInput } from '#contracts';

/** Where an input's bytes come from. */
export type InputSource =
  | { readonly kind: 'artifact'; readonly sha256: string }
  | { readonly kind: 'job'; readonly jobId: string; readonly path: string; readonly sha256: string | undefined }
  | { readonly kind: 'web'; readonly url: string; readonly sha256: string | undefined };

const DIGEST = /^[0-9a-f]{64}$/i;

/** Parses `sha256:…`, `job:ID/path`, `https://…` (and `http://…` where the node's owner allows it); undefined for what is neither. */
export const parseSource = (
  { source, sha256: given }: Pick<AssignedInput, 'source' | 'sha256'>,
  allowHttp: boolean,
): InputSource | undefined => {
  if (given !== undefined && !DIGEST.test(given)) return undefined;
  const sha256 = given?.toLowerCase();
  const artifact = /^sha256:([0-9a-f]{64})$/i.exec(source);
  if (artifact?.[1]) return { kind: 'artifact', sha256: artifact[1].toLowerCase() };
  const job = /^job:([^/]+)\/(.+)$/.exec(source);
  if (job?.[1] && job[2]) return { kind: 'job', jobId: job[1], path: job[2], sha256 };
  return isWebAddress(source, allowHttp) ? { kind: 'web', url: source, sha256 } : undefined;
};

export const isWebAddress = (text: string, allowHttp: boolean): boolean => {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'https:' || (allowHttp && protocol === 'http:');
};
