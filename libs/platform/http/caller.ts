import { SetMetadata, createParamDecorator } from '@nestjs/common';
import type { ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { Role, TokenClaims } from '../auth/token.js';

/** Who makes the request, as its token says. */
export type Caller = TokenClaims;

export interface AuthenticatedRequest extends FastifyRequest {
  caller?: Caller;
}

export const PUBLIC = 'escalon:public';
export const ALLOWED_ROLES = 'escalon:roles';

/** Answers without a token: health and the page's assets only. */
export const Public = (): MethodDecorator & ClassDecorator => SetMetadata(PUBLIC, true);

/** Which roles may call; an operator may call everything that is not a node's own. */
export const Roles = (...roles: readonly Role[]): MethodDecorator & ClassDecorator => SetMetadata(ALLOWED_ROLES, roles);

/** The request under any transport: HTTP's own, or the one that carries a GraphQL operation. */
export const requestOf = (context: ExecutionContext): AuthenticatedRequest => {
  if (context.getType<'http' | 'graphql'>() === 'http')
    return context.switchToHttp().getRequest<AuthenticatedRequest>();
  const [, , carried] =
    context.getArgs<[unknown, unknown, { reply?: { request: AuthenticatedRequest }; caller?: Caller }]>();
  // A websocket was let in by its token, which need not have come in a header.
  if (carried.caller) return { caller: carried.caller, headers: {} } as AuthenticatedRequest;
  return carried.reply?.request ?? ({ headers: {} } as AuthenticatedRequest);
};

/** The caller, for a handler behind the guard. */
export const CurrentCaller = createParamDecorator((_data: unknown, context: ExecutionContext): Caller => {
  const { caller } = requestOf(context);
  if (!caller) throw new Error('a handler asked for the caller of a public route');
  return caller;
});
