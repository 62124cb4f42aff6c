import { cell } from '../output/sections.js';
import { renderTable } from '../output/table.js';
import type { DecisionView } from '#contracts';

const FACTORS = ['resources', 'reliability', 'availability', 'queue', 'cost'] as const;

/** The server's explanation in words, a line each, then the ranking with every factor. */
export const explained = ({ explanation, ranking }: DecisionView): string => {
  const words = Array.isArray(explanation) ? (explanation as unknown[]) : [explanation];
  const lines = words.map((line) => `  ${cell(line)}\n`).join('');
  if (ranking.length === 0) return lines;
  const rows = ranking.map((one) => [
    one.nodeId,
    one.score.toFixed(3),
    ...FACTORS.map((factor) => `${one.factors[factor].value.toFixed(2)} × ${one.factors[factor].weight}`),
  ]);
  return `${lines}\n${renderTable(['node', 'score', ...FACTORS], rows)}`;
};
