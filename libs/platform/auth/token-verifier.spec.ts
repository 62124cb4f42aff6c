import { describe, expect, it } from '@jest/globals';
import { issueToken, TokenVerifier } from './index.js';
import type { TokenClaims } from './index.js';

const SECRET = 'a secret of more than thirty-two characters';
const NOW = 1_800_000_000_000;
const ada: TokenClaims = { role: 'researcher', account: 'ada' };

describe('TokenVerifier', () => {
  it('answers the same claims the first time and from memory', async () => {
    const verifier = new TokenVerifier(SECRET);
    const token = await issueToken(SECRET, ada, NOW + 60_000);
    expect(await verifier.verify(token, NOW)).toEqual(ada);
    expect(await verifier.verify(token, NOW + 1)).toEqual(ada);
  });

  it('refuses a remembered token from the moment at which it expires, as a first look does', async () => {
    const verifier = new TokenVerifier(SECRET);
    const token = await issueToken(SECRET, ada, NOW + 60_000);
    expect(await verifier.verify(token, NOW)).toEqual(ada);
    for (const at of [NOW + 59_999, NOW + 60_000, NOW + 60_001, NOW + 90_000]) {
      expect(await verifier.verify(token, at)).toEqual(await new TokenVerifier(SECRET).verify(token, at));
    }
    expect(await verifier.verify(token, NOW + 60_000)).toBeUndefined();
  });

  it('remembers nothing of what it refused', async () => {
    const verifier = new TokenVerifier(SECRET);
    const forged = await issueToken('another secret of more than thirty-two characters', ada);
    expect(await verifier.verify(forged, NOW)).toBeUndefined();
    expect(await verifier.verify(forged, NOW)).toBeUndefined();
    expect(await verifier.verify(await issueToken(SECRET, ada), NOW)).toEqual(ada);
  });
});
