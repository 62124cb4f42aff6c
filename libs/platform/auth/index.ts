export { issueToken, ROLES, verifyToken } from './token.js';
export type { Role, TokenClaims } from './token.js';
