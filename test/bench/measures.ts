/** The value below which the given share (0…1) of the samples lies. */
export const quantile = (samples: readonly number[], share: number): number => {
  const sorted = samples.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

/** Milliseconds on a clock that all processes of this machine share. */
export const sharedNow = (): number => performance.timeOrigin + performance.now();
