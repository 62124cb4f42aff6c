/** How far a node is from the control plane, in classes, because the exact time changes at every beat. */
export type LatencyClass = 'local' | 'near' | 'far' | 'remote';

/** Seconds of a round trip up to which each class reaches: one building, one country, one continent, further. */
const REACH: readonly (readonly [LatencyClass, number])[] = [
  ['local', 0.005],
  ['near', 0.03],
  ['far', 0.15],
  ['remote', Infinity],
];

/** By so much a round trip must pass a bound before the class changes, so that one near a bound does not flap. */
const SLACK = 0.25;

/** The class of a round trip (seconds) for a node of the class `known`, or of none yet. */
export const latencyClassOf = (roundTrip: number, known: LatencyClass | undefined): LatencyClass => {
  const now = classOf(roundTrip);
  if (known === undefined || now === known) return now;
  const nearer = classOf(roundTrip * (1 + SLACK));
  const further = classOf(roundTrip * (1 - SLACK));
  return nearer === known || further === known ? known : now;
};

const classOf = (roundTrip: number): LatencyClass => REACH.find(([, reach]) => roundTrip <= reach)?.[0] ?? 'remote';
