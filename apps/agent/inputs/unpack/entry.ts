/** The bytes of a file entry, from its beginning; asked for at most once. */
export type Body = () => AsyncIterable<Buffer>;

interface Named {
  /** As the archive writes it. */
  readonly name: string;
}

/** Something that an archive holds, as it says it: nothing of it is checked yet. */
export type Entry =
  | (Named & { readonly kind: 'folder'; readonly mode: number })
  | (Named & {
      readonly kind: 'file';
      readonly mode: number;
      /** Bytes, as far as the archive tells the truth. */
      readonly size: number;
      readonly modified: Date | undefined;
      readonly body: Body;
    })
  | (Named & { readonly kind: 'link'; readonly target: string })
  | (Named & { readonly kind: 'second-name'; readonly of: string })
  /** What is in no format's power to be taken: `why` goes on after the entry's name. */
  | (Named & { readonly kind: 'refused'; readonly why: string });

/** A name split into its parts, or why it is not taken (to go on after the name). */
export type Checked = { readonly parts: readonly string[] } | { readonly why: string };

/** Folders within each other. */
export const DEEPEST = 64;
/** What file systems take of one name, in bytes. */
const LONGEST_PART = 255;
const LONGEST = 2_048;

/**
 * A name inside the folder: empty parts and `.` fold away; what could mean another place, on this system or another, or
 * cannot be told on a terminal is refused. A folder's own name (`./`) has no parts.
 */
export const checkName = (name: string): Checked => {
  if (name.includes('\0')) return { why: 'has a NUL in its name' };
  if (/\p{Cc}/u.test(name)) return { why: 'has control characters in its name' };
  if (name.includes('\uFFFD')) return { why: 'has a name that is not UTF-8' };
  if (name.includes('\\')) return { why: 'has a backslash in its name' };
  if (/^(?:\/|[A-Za-z]:)/.test(name)) return { why: 'has an absolute path' };
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) return { why: 'leads out with ..' };
  if (parts.length > DEEPEST) return { why: `is more than ${DEEPEST} folders deep` };
  if (Buffer.byteLength(name) > LONGEST || parts.some((part) => Buffer.byteLength(part) > LONGEST_PART))
    return { why: 'has a name that is too long' };
  return { parts };
};

/**
 * Why a symbolic link in the folder `parent` (its parts) is not taken, or undefined for one that stays inside. `..` may only
 * come first: after a name it would be a step up from wherever that name leads, which another link decides. Each link
 * taken so leads from a real folder up within the root and then down, so a way over several of them stays inside too.
 */
export const linkTrouble = (parent: readonly string[], target: string): string | undefined => {
  if (target === '') return 'is a link to nothing';
  const checked = checkName(target.replace(/^(?:\.\.?\/+)*(?:\.\.?$)?/, ''));
  const steps = target.split('/').filter((part) => part !== '' && part !== '.');
  const up = steps.findIndex((part) => part !== '..');
  const ups = up === -1 ? steps.length : up;
  if (target.startsWith('/')) return `is a link to the absolute path ${shown(target)}`;
  if (ups > parent.length) return `is a link that leads out, to ${shown(target)}`;
  return 'why' in checked ? `is a link to ${shown(target)}, which ${checked.why}` : undefined;
};

const SHOWN = 200;

/** A name from an archive as it may stand in a message: quoted, on one line, and not without end. */
export const shown = (name: string): string =>
  JSON.stringify(name.length > SHOWN ? `${name.slice(0, SHOWN)}…` : name).replace(
    /[\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
