import type { ExpectedRevision } from './append-rules.js';
import type { ProposedEvent } from './record.js';

/** A change of one stream, as a client asks for it. */
export type WriteRequest =
  | {
      readonly kind: 'append';
      readonly stream: string;
      readonly expected: ExpectedRevision;
      readonly events: readonly ProposedEvent[];
    }
  /** Soft: the stream reads as missing; the next append revives it with the next revision. */
  | { readonly kind: 'delete'; readonly stream: string; readonly expected: ExpectedRevision }
  /** Hard: nothing can ever be appended again. */
  | { readonly kind: 'tombstone'; readonly stream: string; readonly expected: ExpectedRevision };

/** What became of a write. Only `stored` (new, or found to be a retry) changed or confirmed anything. */
export type WriteOutcome =
  | {
      readonly kind: 'stored';
      /** Last revision of the stream after the write, `NO_EVENTS` for an empty write to no stream. */
      readonly revision: number;
      /** Position of the last event of the write. */
      readonly position: number;
    }
  | { readonly kind: 'wrong-revision'; readonly current: number }
  | { readonly kind: 'deleted' }
  /** Its deadline passed, or its caller left, before its turn came; nothing was stored. */
  | { readonly kind: 'expired' };
