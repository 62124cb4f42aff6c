import type { IncomingHttpHeaders } from 'node:http';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { MercuriusDriverConfig } from '@nestjs/mercurius';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import { toProblem } from '#contracts';
import type { Problem } from '#contracts';
import type { Clock } from '#kernel';
import type { TokenVerifier } from '#platform/auth';
import { bearerToken, problemOf, ProblemException } from '#platform/http';
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
  additionalRouteOptions: { preHandler: refuseJson },
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

/**
 * The engine takes a query that is JSON for a syntax tree, unchecked: it breaks on one that is none, and GraphQL's own limits
 * are not made for it. No text of GraphQL is JSON.
 */
const refuseJson = (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void): void => {
  const asked = [request.body, request.query].map((given) => (given as { query?: unknown } | null | undefined)?.query);
  const wrong = asked.some((query) => query !== undefined && isJson(query));
  done(
    wrong
      ? new ProblemException('GRAPHQL_INVALID', 'the query must be an operation in the language of GraphQL')
      : undefined,
  );
};

const isJson = (query: unknown): boolean => {
  if (typeof query !== 'string') return true;
  try {
    JSON.parse(query);
    return true;
  } catch {
    return false;
  }
};

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
  return mistakes.map((mistake) => withProblem(mistake, toProblem('GRAPHQL_INVALID', inWords(mistake))));
};

/** The parser calls itself for each level, and runs out of room before the bound on levels is looked at. */
const inWords = (mistake: Error): string =>
  mistake instanceof RangeError
    ? `the operation is nested too deeply: a query has at most ${String(DEEPEST)} levels`
    : mistake.message;

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
