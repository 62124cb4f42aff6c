/** Where an input's bytes come from. */
export type InputSource =
  | { readonly kind: 'artifact'; readonly sha256: string }
  | { readonly kind: 'job'; readonly jobId: string; readonly path: string }
  | { readonly kind: 'web'; readonly url: string };

/** Parses `sha256:…`, `job:ID/path`, `https://…` (and `http://…` where the node's owner allows it). */
export const parseSource = (source: string, allowHttp: boolean): InputSource | undefined => {
  const artifact = /^sha256:([0-9a-f]{64})$/i.exec(source);
  if (artifact?.[1]) return { kind: 'artifact', sha256: artifact[1].toLowerCase() };
  const job = /^job:([^/]+)\/(.+)$/.exec(source);
  if (job?.[1] && job[2]) return { kind: 'job', jobId: job[1], path: job[2] };
  return isWebAddress(source, allowHttp) ? { kind: 'web', url: source } : undefined;
};

export const isWebAddress = (text: string, allowHttp: boolean): boolean => {
  const protocol = URL.canParse(text) ? new URL(text).protocol : '';
  return protocol === 'https:' || (allowHttp && protocol === 'http:');
};
