import type { Artifact, Assignment, Report } from '#contracts';
import { ranFor } from '../journal/entry.js';
import type { JournalEntry } from '../journal/entry.js';
import { consumptionOf } from '../metering/meter.js';
import type { Measured } from '../metering/meter.js';
import { failure } from './ending.js';
import type { Failure } from './ending.js';

/** What is told of an execution's end, made of what the journal knows of it. */
export const lastReport = (
  entry: JournalEntry,
  measured: Measured,
  failed: Failure | undefined,
  artifacts: readonly Artifact[],
): Report => {
  const { executionId, fencingToken, contract } = entry.assignment;
  const { exitCode, cpuSeconds = 0, diagnostics: seen } = entry.ending ?? {};
  const consumption = consumptionOf(measured, ranFor(entry) / 1000, cpuSeconds, contract.gpus);
  const common = { executionId, fencingToken, artifacts, consumption };
  if (!failed) return { type: 'succeed', ...common, exitCode: exitCode ?? 0 };
  const known = seen || failed.diagnostics ? { diagnostics: { ...seen, ...failed.diagnostics } } : {};
  return { type: 'fail', ...common, ...failed, ...known, ...(exitCode !== undefined && { exitCode }) };
};

/** A result that the server cannot read must not leave the execution open for ever: this is its plainest form. */
export const refusedReport = ({ executionId, fencingToken }: Assignment, reason: string): Report => ({
  type: 'fail',
  executionId,
  fencingToken,
  ...failure('infrastructure', 'report-refused', `the result was refused: ${reason}`),
});
