import type { IncomingHttpHeaders } from 'node:http';
import { MercuriusDriver } from '@nestjs/mercurius';
import type { MercuriusDriverConfig } from '@nestjs/mercurius';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { GraphQLError } from 'graphql';
import type { Clock } from '#kernel';
import { verifyToken } from '#platform/auth';
import { bearerToken, problemOf } from '#platform/http';

interface Upgrade {
  readonly req: { readonly headers: IncomingHttpHeaders; readonly url?: string | undefined };
}

/** Levels of nesting that a query may have. */
const DEEPEST = 8;

/**
 * GraphQL at `/graphql`, code first; subscriptions over graphql-ws. A websocket without a valid token is refused at the
 * upgrade, where every client understands it: in the `Authorization` header, or as `?access_token=` for browsers.
 */
export const graphqlOptions = (secret: string, clock: Clock): MercuriusDriverConfig => ({
  driver: MercuriusDriver,
  autoSchemaFile: true,
  sortSchema: true,
  graphiql: false,
  queryDepth: DEEPEST,
  context: (request: FastifyRequest, reply: FastifyReply) => ({ request, reply }),
  errorFormatter: ({ data = null, errors }) => ({
    statusCode: 200,
    response: { data, errors: errors.map(withProblem) },
  }),
  subscription: {
    fullWsTransport: true,
    verifyClient: (info: Upgrade, next: (allowed: boolean, code?: number, message?: string) => void) => {
      void callerOf(info.req, secret, clock).then((caller) => (caller ? next(true) : next(false, 401, 'Unauthorized')));
    },
    context: async (_socket: unknown, request: FastifyRequest) => {
      const caller = await callerOf(request.raw, secret, clock);
      return { caller, request };
    },
  },
});

const callerOf = ({ headers, url }: Upgrade['req'], secret: string, clock: Clock) => {
  const header = typeof headers.authorization === 'string' ? headers.authorization : undefined;
  const asked = new URL(url ?? '/', 'http://localhost').searchParams.get('access_token');
  const token = bearerToken(header) ?? asked;
  return token === null ? Promise.resolve(undefined) : verifyToken(secret, token, clock.now());
};

/** A refusal carries the same problem document as over REST. */
const withProblem = (error: GraphQLError): GraphQLError => {
  const cause = error.originalError;
  if (!cause) return error;
  const problem = problemOf(cause);
  const { nodes, source, positions, path } = error;
  return new GraphQLError(problem.detail, {
    nodes: nodes ?? null,
    source: source ?? null,
    positions: positions ?? null,
    path: path ?? null,
    extensions: { code: problem.code, problem },
  });
};
