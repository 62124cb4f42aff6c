export { TokenVerifier } from './token-verifier.js';
export { issueToken, ROLES } from './token.js';
export type { Role, TokenClaims } from './token.js';
