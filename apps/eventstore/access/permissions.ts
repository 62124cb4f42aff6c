import { isMetastream, isSystemStream, originalOf } from '../log/stream-metadata.js';
import type { Acl, StreamMetadata, SystemSettings } from '../log/stream-metadata.js';
import { ADMINS } from './users.js';
import type { Account } from './users.js';

export type Operation = 'read' | 'write' | 'delete';

/** Who calls: anyone at all (the server runs without authentication), an account, or nobody that is known. */
export type Caller = 'trusted' | Account | 'anonymous';

/** The name under which `$all` has its access list. */
export const ALL_STREAM = '$all';
const EVERYONE = '$all';

const OPEN: Required<Acl> = {
  read: [EVERYONE],
  write: [EVERYONE],
  delete: [EVERYONE],
  metaRead: [EVERYONE],
  metaWrite: [EVERYONE],
};
const CLOSED: Required<Acl> = {
  read: [ADMINS],
  write: [ADMINS],
  delete: [ADMINS],
  metaRead: [ADMINS],
  metaWrite: [ADMINS],
};

/** What a decision looks up in the log. */
export interface AclSource {
  metadataOf(stream: string): StreamMetadata;
  settings(): SystemSettings;
}

/**
 * Decides as EventStoreDB's stream access lists do: administrators may do all; `$all` can never be written; a metadata
 * stream is guarded by `$mr` and `$mw` of the stream it is about and cannot be deleted; else the stream's `$acl` is
 * asked first, then `$settings`, then the default, which opens user streams to every known account and system streams
 * to administrators.
 *
 * @param anonymousAllowed whether a caller without credentials counts as one of everyone (false in 23.10 and later).
 */
export const mayAccess = (
  caller: Caller,
  operation: Operation,
  stream: string,
  source: AclSource,
  anonymousAllowed = false,
): boolean => {
  if (stream === ALL_STREAM && operation !== 'read') return false;
  if (isMetastream(stream) && operation === 'delete') return false;
  if (caller === 'trusted') return true;
  if (caller === 'anonymous' && !anonymousAllowed) return false;
  const names = caller === 'anonymous' ? [] : [caller.name, ...caller.groups];
  if (names.includes(ADMINS) || names.includes('admin')) return true;
  const roles = rolesFor(operation, stream, source);
  return roles.includes(EVERYONE) || roles.some((role) => names.includes(role));
};

const rolesFor = (operation: Operation, stream: string, source: AclSource): readonly string[] => {
  const meta = isMetastream(stream);
  const right = !meta ? operation : operation === 'read' ? 'metaRead' : 'metaWrite';
  const target = meta ? originalOf(stream) : stream;
  const settings = source.settings();
  const [general, fallback] = isSystemStream(target)
    ? [settings.systemStreamAcl, CLOSED]
    : [settings.userStreamAcl, OPEN];
  return source.metadataOf(target).acl?.[right] ?? general?.[right] ?? fallback[right];
};
