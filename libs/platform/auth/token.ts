import { SignJWT, errors, jwtVerify } from 'jose';
import type { Millis } from '#kernel';

/** What a caller may do: submit and see own jobs; act as one node; run the system; read everything. */
export type Role = 'researcher' | 'node' | 'operator' | 'auditor';

export const ROLES: readonly Role[] = ['researcher', 'node', 'operator', 'auditor'];

/**
 * Who a token speaks for. `account` is the person or the part of the system; a `node` token without `nodeId` may only
 * enrol. `institution` is what an owner's or operator's view is limited to, when given.
 */
export interface TokenClaims {
  readonly role: Role;
  readonly account: string;
  readonly nodeId?: string;
  readonly institution?: string;
}

const ISSUER = 'escalon';
const ALGORITHM = 'HS256';

/** At least 32 characters; every orchestrator of one system shares it. */
const keyOf = (secret: string): Uint8Array => {
  if (secret.length < 32) throw new Error('the signing secret has fewer than 32 characters');
  return new TextEncoder().encode(secret);
};

/** A signed bearer token; without `expiresAt` it holds until the secret changes. */
export const issueToken = async (secret: string, claims: TokenClaims, expiresAt?: Millis): Promise<string> => {
  const { account, ...rest } = claims;
  const token = new SignJWT({ ...rest }).setProtectedHeader({ alg: ALGORITHM }).setIssuer(ISSUER).setSubject(account);
  if (expiresAt !== undefined) token.setExpirationTime(Math.floor(expiresAt / 1000));
  return token.sign(keyOf(secret));
};

/**
 * The claims of a token that this secret signed, with the moment from which on it is not valid any more; undefined for any
 * other text. Faults are thrown.
 */
export const readToken = async (
  secret: string,
  token: string,
  now: Millis,
): Promise<{ readonly claims: TokenClaims; readonly expiresAt: Millis } | undefined> => {
  try {
    const options = { issuer: ISSUER, algorithms: [ALGORITHM], currentDate: new Date(now) };
    const { payload } = await jwtVerify(token, keyOf(secret), options);
    const claims = claimsOf(payload);
    return claims && { claims, expiresAt: payload.exp === undefined ? Infinity : payload.exp * 1000 };
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
};

const claimsOf = (payload: Record<string, unknown>): TokenClaims | undefined => {
  const { sub, role, nodeId, institution } = payload;
  if (typeof sub !== 'string' || !ROLES.includes(role as Role)) return undefined;
  return {
    role: role as Role,
    account: sub,
    ...(typeof nodeId === 'string' ? { nodeId } : {}),
    ...(typeof institution === 'string' ? { institution } : {}),
  };
};
