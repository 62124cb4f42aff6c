import type { IncomingHttpHeaders } from 'node:http';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { MercuriusDriverConfig } from '@nestjs/mercurius';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import { toProblem } from '#contracts';
import type { Problem } from '#contracts';
import type { Clock } from '#kernel';
import type { TokenVerifier } from '#platform/auth';
import { bearerToken, problemOf } from '#platform/http';
import { limitFields } from './limit-fields.js';

interface Asking {
  readonly headers: IncomingHttpHeaders;
  readonly url?: string | undefined;
}

interface Upgrade {
  readonly req: Asking;
}

/** Levels of nesting that a query may have. */
const DEEPEST = 8;

/**
 * GraphQL at `/graphql`, code first; subscriptions over graphql-ws. A websocket without a valid token is refused at the
 * upgrade, where every client understands it: in the `Authorization` header, or as `?access_token=` for browsers.
 */
export const graphqlOptions = (tokens: TokenVerifier, clock: Clock): MercuriusDriverConfig => ({
  driver: MercuriusDriver,
  autoSchemaFile: true,
  sortSchema: true,
  graphiql: false,
  queryDepth: DEEPEST,
  validationRules: [limitFields],
  context: (request: FastifyRequest, reply: FastifyReply) => ({ request, reply }),
  errorFormatter: ({ data = null, errors }) => ({
    statusCode: 200,
    response: { data, errors: errors.flatMap(withProblems) },
  }),
  subscription: {
    fullWsTransport: true,
    verifyClient: (info: Upgrade, next: (allowed: boolean, code?: number, message?: string) => void) => {
      void callerOf(info.req, tokens, clock).then((caller) => (caller ? next(true) : next(false, 401, 'Unauthorized')));
    },
    context: async (_socket: unknown, request: FastifyRequest) => {
      const caller = await callerOf(request.raw, tokens, clock);
      return { caller, request };
    },
  },
});

/** The token of a request; in the address only where a browser cannot send a header, which is the upgrade. */
export const tokenOf = ({ headers, url = '/' }: Asking): string | undefined => {
  const token = bearerToken(headers.authorization);
  if (token !== undefined || headers.upgrade === undefined) return token;
  return new URLSearchParams(url.slice(url.indexOf('?') + 1)).get('access_token') ?? undefined;
};

const callerOf = (request: Asking, tokens: TokenVerifier, clock: Clock) => {
  const token = tokenOf(request);
  return token === undefined ? Promise.resolve(undefined) : tokens.verify(token, clock.now());
};

/** A refusal carries the same problem document as over REST; an operation that is no valid one, what is wrong with it. */
const withProblems = (error: GraphQLError): readonly GraphQLError[] => {
  const cause = (error.originalError ?? error) as Error & { errors?: readonly GraphQLError[]; code?: string };
  if (!cause.code?.startsWith('MER_')) return [cause === error ? error : withProblem(error, problemOf(cause))];
  const mistakes = cause.errors?.length ? cause.errors : [error];
  return mistakes.map((mistake) => withProblem(mistake, toProblem('GRAPHQL_INVALID', mistake.message)));
};

const withProblem = (error: GraphQLError, problem: Problem): GraphQLError => {
  const { nodes, source, positions, path } = error;
  return new GraphQLError(problem.detail, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: { code: problem.code, problem },
  });
};
