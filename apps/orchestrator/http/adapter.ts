import type { Readable } from 'node:stream';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { toProblem } from '#contracts';
import { problemOf, sendProblem, storableId } from '#platform/http';
import { RouteTable } from './route-table.js';

/** Largest JSON body; a job file has its own, lower limit. */
const BODY_LIMIT = 4 * 1024 * 1024;
/** Longest part of a path that is looked at. */
const LONGEST_PARAMETER = 256;

const BYTES = 'application/octet-stream';
/** Where the body is bytes, whatever the sender calls them. */
const BYTE_PATHS = /^\/v1\/(?:artifacts\/[^/]+|executions\/[^/]+\/logs)(?:\?|$)/;

/** The framework would put its own error handler over ours; errors of handlers go through its filters all the same. */
class ProblemAdapter extends FastifyAdapter {
  override setErrorHandler(): FastifyInstance {
    return this.getInstance();
  }
}

/** The HTTP server: what it refuses by itself is refused with a problem document too. */
export const createAdapter = (): FastifyAdapter => {
  const adapter = new ProblemAdapter({
    bodyLimit: BODY_LIMIT,
    routerOptions: { maxParamLength: LONGEST_PARAMETER },
    forceCloseConnections: 'idle',
    keepAliveTimeout: 75_000,
    frameworkErrors: (error: Error, _request: FastifyRequest, reply: FastifyReply) =>
      void sendProblem(reply, problemOf(error)),
    clientErrorHandler: refuseUnreadable,
  });
  const fastify = adapter.getInstance();
  fastify.setErrorHandler((error, _request, reply) => {
    const problem = problemOf(error);
    // Whoever is cut off in the middle of a large body never reads why: the rest is read and thrown away.
    if (problem.status === 413) reply.removeHeader('connection');
    return sendProblem(reply, problem);
  });
  acceptBodies(fastify);
  refuseUnstorableNames(fastify);
  refuseMethods(fastify);
  return adapter;
};

/** JSON and bytes, nothing else. An empty body is none, whatever its type says. */
const acceptBodies = (fastify: FastifyInstance): void => {
  const json = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    if (body === '') done(null, undefined);
    else void json(request, body as string, done);
  });
  // Artifacts and logs are read as a stream, never into memory at once.
  const pass = (_request: unknown, payload: Readable, done: (error: Error | null, body?: unknown) => void): void =>
    done(null, payload);
  fastify.addContentTypeParser(BYTES, pass);
  fastify.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'PUT' && BYTE_PATHS.test(request.url)) request.headers['content-type'] = BYTES;
    else if (request.headers['content-type']?.startsWith(BYTES)) {
      void sendProblem(reply, toProblem('UNSUPPORTED_MEDIA_TYPE', 'this address takes application/json'));
      return;
    }
    done();
  });
};

const refuseUnstorableNames = (fastify: FastifyInstance): void => {
  fastify.addHook('onRequest', (request, reply, done) => {
    if (Object.values((request.params ?? {}) as Record<string, string>).every(storableId)) done();
    else void sendProblem(reply, toProblem('NOT_FOUND', 'nothing has a name with such characters'));
  });
};

/** A path that is there for other methods is not a path that is missing. */
const refuseMethods = (fastify: FastifyInstance): void => {
  const routes = new RouteTable();
  fastify.addHook('onRoute', ({ method, url }) => routes.add(url, [method].flat()));
  fastify.addHook('onRequest', (request, reply, done) => {
    const allowed = request.is404 ? routes.methodsAt(request.url) : [];
    if (allowed.length === 0) done();
    else {
      const detail = `${request.method} is none of ${allowed.join(', ')}`;
      void sendProblem(reply.header('allow', allowed.join(', ')), toProblem('METHOD_NOT_ALLOWED', detail));
    }
  });
};

/** What is no HTTP request at all is answered on the socket. */
const refuseUnreadable = (error: Error & { code?: string }, socket: NodeJS.WritableStream & { destroy(): void }) => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
  const status = tooLarge ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const detail = tooLarge ? 'the headers are too large' : 'this is no HTTP request';
  const body = JSON.stringify({ ...toProblem('REQUEST_MALFORMED', detail), status: tooLarge ? 431 : 400 });
  const head = `content-type: application/problem+json\r\ncontent-length: ${String(Buffer.byteLength(body))}`;
  socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\n${head}\r\n\r\n${body}`);
};
