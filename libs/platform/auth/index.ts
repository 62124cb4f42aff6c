export { TokenVerifier } from './token-verifier.js';
export { issueToken, ROLES, verifyToken } from './token.js';
export type { Role, TokenClaims } from './token.js';
