import { createHash } from 'node:crypto';
import type { Position } from '#event-store';
import { addClusterLine, clusterLines, emptyCluster } from '#placement';
import type { ClusterLine, ClusterState } from '#placement';

/*
 * A snapshot is text, one line of JSON after another: a header; the lines of the cluster and of whatever else is folded
 * from the log with it; a trailer with their number and digest. It is written and read as a stream.
 */

const FORMAT = 1;

/**
 * The name of the fold: the digest of what it makes of many random histories. `snapshots.spec.ts` fails when the fold, or how it
 * is stored, changes without this name, so that a snapshot of another fold is never taken for one's own.
 */
export const FOLD = 'fc88287c8fbf11eb';

/** The event that a snapshot ends with: what proves that it belongs to a log. */
export interface LastEvent {
  readonly stream: string;
  readonly revision: bigint;
  readonly position: Position;
  readonly id: string;
}

/** Something that is folded from the log beside the cluster. */
export interface Follower {
  /** Stays the same for ever. */
  readonly name: string;
  /** All it knows, as JSON. */
  lines(): Iterable<unknown>;
}

export interface Snapshot {
  readonly last: LastEvent;
  readonly cluster: ClusterState;
  /** The lines of each follower by its name. */
  readonly followers: ReadonlyMap<string, readonly unknown[]>;
}

/** Characters that are handed on at once: a few milliseconds of work. */
const PIECE = 256 * 1024;

/** The text in pieces of about `size` characters. What is written down must not change between two pieces. */
export function* encodeSnapshot(
  last: LastEvent,
  cluster: ClusterState,
  followers: Iterable<Follower>,
  size = PIECE,
): Generator<string, void> {
  const hash = createHash('sha256');
  let lines = 0;
  let piece = header(last, cluster);
  for (const line of linesOf(cluster, followers)) {
    piece += `${JSON.stringify(line)}\n`;
    lines += 1;
    if (piece.length < size) continue;
    hash.update(piece);
    yield piece;
    piece = '';
  }
  hash.update(piece);
  yield `${piece}${JSON.stringify({ lines, sha256: hash.digest('hex') })}\n`;
}

const header = ({ stream, revision, position, id }: LastEvent, cluster: ClusterState): string => {
  const { projects, nodes, jobs, ended } = cluster;
  const counts = { projects: projects.size, nodes: nodes.size, jobs: jobs.size, ended: ended.size };
  const last = { stream, revision: String(revision), position: String(position), id };
  return `${JSON.stringify({ format: FORMAT, fold: FOLD, last, counts })}\n`;
};

const FOLLOWER = 'follower:';

function* linesOf(cluster: ClusterState, followers: Iterable<Follower>): Generator<ClusterLine, void> {
  yield* clusterLines(cluster);
  for (const follower of followers) {
    for (const line of follower.lines()) yield [`${FOLLOWER}${follower.name}`, line];
  }
}

/** Throws when the text is not a whole snapshot of this fold; the message says why. */
export const decodeSnapshot = async (text: AsyncIterable<string>): Promise<Snapshot> => {
  const decoder = new Decoder();
  let rest = '';
  for await (const chunk of text) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) decoder.add(line);
  }
  if (rest !== '') throw new Error('it ends in the middle of a line');
  return decoder.end();
};

interface Trailer {
  readonly lines: number;
  readonly sha256: string;
}

class Decoder {
  private readonly cluster = emptyCluster();
  private readonly followers = new Map<string, unknown[]>();
  private readonly hash = createHash('sha256');
  private last: LastEvent | undefined;
  private lines = 0;
  private trailer: Trailer | undefined;

  add(text: string): void {
    if (this.trailer) throw new Error('it goes on after its end');
    const line: unknown = JSON.parse(text);
    if (this.last && !Array.isArray(line)) {
      this.trailer = line as Trailer;
      return;
    }
    this.hash.update(text).update('\n');
    if (this.last) this.addLine(line as ClusterLine);
    else this.last = lastOf(line as Header);
  }

  end(): Snapshot {
    const { last, cluster, followers, trailer } = this;
    if (!last || !trailer) throw new Error('it has no end');
    if (trailer.lines !== this.lines || trailer.sha256 !== this.hash.digest('hex')) {
      throw new Error('its lines are not those that were written');
    }
    return { last, cluster, followers };
  }

  private addLine([part, value]: ClusterLine): void {
    this.lines += 1;
    if (part.startsWith(FOLLOWER)) this.addFollower(part.slice(FOLLOWER.length), value);
    else addClusterLine(this.cluster, [part, value]);
  }

  private addFollower(name: string, value: unknown): void {
    const known = this.followers.get(name) ?? [];
    known.push(value);
    this.followers.set(name, known);
  }
}

interface Header {
  readonly format?: unknown;
  readonly fold?: unknown;
  readonly last?: { readonly [K in keyof LastEvent]: string };
}

const lastOf = ({ format, fold, last }: Header): LastEvent => {
  if (format !== FORMAT) throw new Error(`it has format ${String(format)}, not ${FORMAT}`);
  if (fold !== FOLD) throw new Error(`it is of fold ${String(fold)}, not ${FOLD}`);
  if (!last) throw new Error('it does not say where it ends');
  return { ...last, revision: BigInt(last.revision), position: BigInt(last.position) };
};
