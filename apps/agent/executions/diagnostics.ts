import type { Contract } from '#contracts';
import type { Measured } from '../metering/meter.js';
import { signalName } from '../runner/signal-name.js';
import type { ExitRecord } from '../runner/supervisor.js';

/** What a person needs first to see why a task failed. It is recorded for ever, so it is short. */
export interface Diagnostics {
  readonly stdout?: readonly string[];
  readonly stderr: readonly string[];
  readonly signal?: string;
  /** Bytes of memory: the most that the task's processes had together, and what the contract grants. */
  readonly peakMemory: number;
  readonly memoryLimit: number;
  /** Bytes on disk: the most that the task's folder took, and what the contract grants, if it asks for any. */
  readonly disk: number;
  readonly diskLimit?: number;
  /** What a container was made of: the image's name in the job, its digest and its id. */
  readonly image?: Readonly<Record<string, string>>;
}

export interface SeenOfRun {
  readonly exit: ExitRecord | undefined;
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly measured: Pick<Measured, 'maxMemory' | 'maxDisk'>;
  readonly contract: Pick<Contract, 'memory' | 'disk'>;
  readonly image?: Readonly<Record<string, string>> | undefined;
}

export const diagnosticsOf = ({ exit, stdout, stderr, measured, contract, image }: SeenOfRun): Diagnostics => {
  const signal = exit && signalName(exit.code);
  const said = plainLines(stdout);
  return {
    ...(said.length > 0 && { stdout: said }),
    stderr: plainLines(stderr),
    ...(signal !== undefined && { signal }),
    peakMemory: measured.maxMemory,
    memoryLimit: contract.memory,
    disk: measured.maxDisk,
    ...(contract.disk > 0 && { diskLimit: contract.disk }),
    ...(image && { image }),
  };
};

/** UTF-8 bytes of one stream's lines together. */
const MOST_BYTES = 4_096;
// Escape sequences and control characters are what it is about.
const [ESCAPES, CONTROLS] = [/\u001b\[[0-9;?]*[ -/]*[@-~]/g, /[\u0000-\u0008\u000b-\u001f\u007f]/g];

/**
 * Lines as a person would see them at the end: without colours, what a carriage return would write over left out, and other
 * control characters, which could not be stored, replaced. Of too much the newest is kept.
 */
export const plainLines = (lines: readonly string[]): string[] => {
  const kept: string[] = [];
  let room = MOST_BYTES;
  for (const line of lines.toReversed()) {
    const plain = lastShown(line.replace(ESCAPES, '')).replace(CONTROLS, '\ufffd');
    room -= Buffer.byteLength(plain) + 1;
    if (room < 0) break;
    kept.unshift(plain);
  }
  return kept;
};

const lastShown = (line: string): string =>
  line
    .split('\r')
    .findLast((part) => part !== '')
    ?.trimEnd() ?? '';
