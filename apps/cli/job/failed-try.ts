import { formatBytes } from '#contracts';
import type { FailedTryView } from '#contracts';

/** The newest failure of a job in words, with what its node saw of it; nothing when there is none. */
export const failedTry = (tried: FailedTryView | null | undefined): string => {
  if (!tried?.failure) return '';
  const { attempt, nodeId, exitCode, failure, diagnostics } = tried;
  const seen = diagnostics ?? {};
  const facts = [
    exitCode === null ? '' : `exit code ${exitCode}`,
    typeof seen['signal'] === 'string' ? seen['signal'] : '',
    used('memory', seen['peakMemory'], seen['memoryLimit']),
    used('disk', seen['disk'], seen['diskLimit']),
  ].filter((fact) => fact !== '');
  const head = `\nattempt ${attempt} failed on ${nodeId} (${failure.class}, ${failure.code}): ${failure.message}\n`;
  const lines = [...(facts.length > 0 ? [facts.join(', ')] : []), ...said(seen, 'stdout'), ...said(seen, 'stderr')];
  return head + lines.map((line) => `  ${line}\n`).join('');
};

const used = (what: string, most: unknown, limit: unknown): string => {
  if (typeof most !== 'number' || most <= 0) return '';
  return `${what} at most ${formatBytes(most)}${typeof limit === 'number' ? ` of ${formatBytes(limit)}` : ''}`;
};

const said = (seen: Readonly<Record<string, unknown>>, stream: string): string[] => {
  const lines = seen[stream];
  if (!Array.isArray(lines) || lines.length === 0) return [];
  return [`last lines of ${stream}:`, ...lines.map((line) => `  ${String(line)}`)];
};
