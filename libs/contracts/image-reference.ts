import type { Parsed } from './units.js';

/** A container image by its whole name: `docker.io/library/busybox` and either a tag or a digest (`sha256:…`). */
export interface ImageReference {
  readonly name: string;
  readonly tag?: string;
  readonly digest?: string;
}

/** The registry of a name that has none, and its folder of the images of nobody in particular. */
const DEFAULT_REGISTRY = 'docker.io';
const DEFAULT_FOLDER = 'library';

const REGISTRY =
  /^(?:\[[0-9a-fA-F:]{2,45}\]|[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*)(?::\d{1,5})?$/;
const PART = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;
const LONGEST_NAME = 255;

const wrong = (message: string): { readonly ok: false; readonly message: string } => ({ ok: false, message });

/**
 * Reads `registry/name:tag` or `registry/name@sha256:…` by the grammar of the distribution specification. One of the two has to
 * be there, for what an unnamed tag means changes; both at once are refused, as not every engine takes them. A name without a
 * registry is of `docker.io`, whatever a machine's engine would have searched, so that it is the same image everywhere.
 */
export const parseImageReference = (text: string): Parsed<ImageReference> => {
  const [before = '', digest, ...more] = text.split('@');
  if (more.length > 0) return wrong('has more than one @');
  const slash = before.lastIndexOf('/');
  const colon = before.indexOf(':', slash + 1);
  const tag = colon < 0 ? undefined : before.slice(colon + 1);
  const name = colon < 0 ? before : before.slice(0, colon);
  const mistake = mistakeIn(name, tag, digest);
  if (mistake !== undefined) return wrong(mistake);
  const full = qualified(name);
  if (full.length > LONGEST_NAME) return wrong(`has a name of over ${LONGEST_NAME} characters`);
  return {
    ok: true,
    value: { name: full, ...(tag !== undefined && { tag }), ...(digest !== undefined && { digest }) },
  };
};

/** As text that every engine reads the same way. */
export const imageText = ({ name, tag, digest }: ImageReference): string =>
  digest === undefined ? `${name}:${tag ?? ''}` : `${name}@${digest}`;

const mistakeIn = (name: string, tag: string | undefined, digest: string | undefined): string | undefined => {
  if (tag !== undefined && digest !== undefined) return 'has both a tag and a digest; say one of them';
  if (tag === undefined && digest === undefined)
    return 'names neither a tag nor a digest, as name:1.2 or name@sha256:…';
  if (tag !== undefined && !TAG.test(tag)) return `has the malformed tag ${JSON.stringify(tag)}`;
  if (digest !== undefined && !DIGEST.test(digest))
    return 'has a digest that is not sha256: and 64 lower-case hexadecimal digits';
  const [first = '', ...rest] = name.split('/');
  const parts = rest.length > 0 && isRegistry(first) ? rest : [first, ...rest];
  const odd = parts.find((part) => !PART.test(part));
  return odd === undefined
    ? undefined
    : `has the malformed part ${JSON.stringify(odd)}: lower-case letters, digits and . _ -`;
};

/** As every engine tells a registry from a folder of the default one. */
const isRegistry = (part: string): boolean =>
  REGISTRY.test(part) && (/[.:]/.test(part) || part === 'localhost' || part !== part.toLowerCase());

const qualified = (name: string): string => {
  const parts = name.split('/');
  if (parts.length > 1 && isRegistry(parts[0] ?? '')) return name;
  return parts.length === 1 ? `${DEFAULT_REGISTRY}/${DEFAULT_FOLDER}/${name}` : `${DEFAULT_REGISTRY}/${name}`;
};
