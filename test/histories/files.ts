import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fold } from '#kernel';
import { upcastRecorded } from '#contracts';
import { jobDecider } from '#jobs';
import type { JobEvent } from '#jobs';
import { nodeDecider } from '#nodes';
import type { NodeEvent } from '#nodes';
import type { RecordedLine } from './histories.js';

/** Where the recorded histories lie: one NDJSON file each, and beside it the state that it led to when it was recorded. */
export const FOLDER = join('test', 'histories');

const eventsFile = (name: string): string => join(FOLDER, `${name}.ndjson`);
const stateFile = (name: string): string => join(FOLDER, `${name}.state.json`);

export const recordedNames = (): string[] =>
  readdirSync(FOLDER)
    .filter((file) => file.endsWith('.ndjson'))
    .map((file) => file.slice(0, -'.ndjson'.length))
    .sort();

export const readHistory = (name: string): RecordedLine[] =>
  readFileSync(eventsFile(name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as RecordedLine);

export const readState = (name: string): unknown => JSON.parse(readFileSync(stateFile(name), 'utf8'));

/** The state that the current code makes of stored events, in the form it has as JSON. */
export const stateOf = (lines: readonly RecordedLine[]): unknown => {
  const events = lines.map(upcastRecorded);
  const state = lines[0]?.stream.startsWith('node-')
    ? fold(nodeDecider, events as NodeEvent[])
    : fold(jobDecider, events as JobEvent[]);
  return JSON.parse(JSON.stringify(state));
};

/** Writes a history that is not there yet; one that is, is never touched. Answers whether it was written. */
export const writeNew = (name: string, lines: readonly RecordedLine[]): boolean => {
  if (existsSync(eventsFile(name)) || existsSync(stateFile(name))) return false;
  writeFileSync(eventsFile(name), lines.map((line) => `${JSON.stringify(line)}\n`).join(''), { flag: 'wx' });
  writeFileSync(stateFile(name), `${JSON.stringify(stateOf(lines), undefined, 2)}\n`, { flag: 'wx' });
  return true;
};
