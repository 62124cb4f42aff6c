import { describe, expect, it } from '@jest/globals';
import { RoundTrips } from './round-trips.js';

describe('round trips', () => {
  it('A-36 says nothing until there are four, then the median, which a slow one does not move', () => {
    const trips = new RoundTrips();
    for (const span of [900, 3, 2]) trips.add(span);
    expect(trips.typical).toBeUndefined();
    trips.add(4);
    expect(trips.typical).toBe(4);
    trips.add(5_000);
    expect(trips.typical).toBe(4);
  });

  it('forgets what is older than twelve beats', () => {
    const trips = new RoundTrips();
    for (let count = 0; count < 12; count += 1) trips.add(1);
    for (let count = 0; count < 7; count += 1) trips.add(200);
    expect(trips.typical).toBe(200);
  });
});
