import type { Millis } from '#kernel';
import { readToken } from './token.js';
import type { TokenClaims } from './token.js';

interface Verified {
  readonly claims: TokenClaims;
  readonly expiresAt: Millis;
}

const REMEMBERED = 10_000;

/**
 * Verifies bearer tokens and remembers those that were valid, until they expire: the same few callers send one with every
 * request. A signature cannot become wrong while the secret stays, so nothing else needs to be looked at again.
 */
export class TokenVerifier {
  private readonly known = new Map<string, Verified>();

  constructor(private readonly secret: string) {}

  /** The claims of a token that is valid now, undefined for any other text; faults are thrown. */
  async verify(token: string, now: Millis): Promise<TokenClaims | undefined> {
    const known = this.known.get(token);
    if (known && now < known.expiresAt) return known.claims;
    this.known.delete(token);
    const verified = await readToken(this.secret, token, now);
    if (verified) this.remember(token, verified);
    return verified?.claims;
  }

  private remember(token: string, verified: Verified): void {
    this.known.set(token, verified);
    if (this.known.size <= REMEMBERED) return;
    const oldest = this.known.keys().next();
    if (!oldest.done) this.known.delete(oldest.value);
  }
}
