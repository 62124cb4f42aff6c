import type { Decision } from '#jobs';
import { ALGORITHM } from './decide.js';
import { isPresentWeights } from './scores/profiles.js';

/** Whether nodes were matched by what this program matches with. */
export const isPresentAlgorithm = (algorithm: string): boolean => algorithm === ALGORITHM;

/** Whether a decision was made by what this program decides with, so that making it again must come to the same. */
export const isPresentVersion = ({ algorithm, weights }: Decision['versions']): boolean =>
  isPresentAlgorithm(algorithm) && isPresentWeights(weights);
