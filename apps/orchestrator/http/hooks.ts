import type { FastifyInstance } from 'fastify';
import { toProblem } from '#contracts';
import type { Clock } from '#kernel';
import type { TokenVerifier } from '#platform/auth';
import { sendProblem } from '#platform/http';
import { tokenOf } from '../graphql/graphql-options.js';
import type { Metrics } from '../system/metrics.js';

/** What is answered before the process can do its work. */
const ALWAYS = /^\/(?:livez|readyz|docs)(?:[/?]|$)/;

/** Refuses work while the process starts or stops; health and the reference answer. */
export const gate = (fastify: FastifyInstance, serving: () => boolean): void => {
  fastify.addHook('onRequest', (request, reply, done) => {
    if (serving() || ALWAYS.test(request.url)) done();
    else void sendProblem(reply, toProblem('NOT_READY', 'the server is starting or stopping'));
  });
  // A client that keeps its connection must not keep the process from ending.
  fastify.addHook('onSend', (_request, reply, payload, done) => {
    if (!serving()) void reply.header('connection', 'close');
    done(null, payload);
  });
};

/** Resolvers have their own guard; this one keeps the schema itself from strangers, however they write the path. */
export const guardGraphql = (fastify: FastifyInstance, tokens: TokenVerifier, clock: Clock): void => {
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.routeOptions.url !== '/graphql') return;
    const token = tokenOf(request.raw);
    if (token !== undefined && (await tokens.verify(token, clock.now()))) return;
    await sendProblem(reply, toProblem('UNAUTHENTICATED', 'GraphQL needs a valid bearer token'));
  });
};

/** Counts requests by method and status, with their duration. */
export const measure = (fastify: FastifyInstance, metrics: Metrics, clock: Clock): void => {
  const begun = new WeakMap<object, number>();
  fastify.addHook('onRequest', (request, _reply, done) => {
    begun.set(request, clock.now());
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    const span = (clock.now() - (begun.get(request) ?? clock.now())) / 1000;
    metrics.requests.observe({ method: request.method, status: String(reply.statusCode) }, span);
    done();
  });
};
