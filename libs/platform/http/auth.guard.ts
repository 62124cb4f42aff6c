import { Inject, Injectable } from '@nestjs/common';
import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Clock } from '#kernel';
import { TokenVerifier } from '../auth/token-verifier.js';
import type { Role } from '../auth/token.js';
import { CLOCK } from '../ports/tokens.js';
import { ALLOWED_ROLES, PUBLIC, requestOf } from './caller.js';
import type { AuthenticatedRequest, Caller } from './caller.js';
import { ProblemException } from './problem-exception.js';

/** Lets nothing through without a valid token, except what is marked public; then looks at the role. */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly tokens: TokenVerifier,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const targets = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride<boolean | undefined>(PUBLIC, targets)) return true;
    const request = requestOf(context);
    request.caller ??= await this.callerOf(request);
    const roles = this.reflector.getAllAndOverride<readonly Role[] | undefined>(ALLOWED_ROLES, targets);
    if (roles && !roles.includes(request.caller.role)) {
      throw new ProblemException(
        'FORBIDDEN',
        `this needs the role ${roles.join(' or ')}, the token has ${request.caller.role}`,
      );
    }
    return true;
  }

  private async callerOf(request: AuthenticatedRequest): Promise<Caller> {
    const token = bearerToken(request.headers.authorization);
    const caller = token === undefined ? undefined : await this.tokens.verify(token, this.clock.now());
    if (!caller) {
      throw new ProblemException(
        'UNAUTHENTICATED',
        token === undefined ? 'no bearer token was sent' : 'the token is not valid',
      );
    }
    return caller;
  }
}

/** The token of an `Authorization: Bearer …` header. */
export const bearerToken = (header: string | undefined): string | undefined => {
  const match = /^Bearer\s+(\S+)$/i.exec(header ?? '');
  return match?.[1];
};
