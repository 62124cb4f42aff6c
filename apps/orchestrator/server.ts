import 'reflect-metadata';
import type { Readable } from 'node:stream';
import helmet from '@fastify/helmet';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { toProblem } from '#contracts';
import type { Clock } from '#kernel';
import { verifyToken } from '#platform/auth';
import { bearerToken } from '#platform/http';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { Lifecycle } from './lifecycle.js';
import { NestLogger } from './nest-logger.js';
import { assemble } from './parts.js';

/** A running control plane. */
export interface Orchestrator {
  readonly url: string;
  readonly port: number;
  stop(): Promise<void>;
}

/** Largest JSON body; a job file has its own, lower limit. */
const BODY_LIMIT = 4 * 1024 * 1024;

/**
 * Starts the control plane in this process and answers once it listens and its view is live. `onFault` is told when
 * something broke that cannot be mended in place: the process should end and be started again.
 */
export const startOrchestrator = async (config: Config, onFault: (error: Error) => void): Promise<Orchestrator> => {
  const parts = assemble(config, onFault);
  const lifecycle = new Lifecycle(parts);
  await lifecycle.start();
  const adapter = new FastifyAdapter({ bodyLimit: BODY_LIMIT, forceCloseConnections: true, keepAliveTimeout: 75_000 });
  acceptBytes(adapter);
  // Nest declares its options as a class and takes a plain object.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
  const options: NestApplicationOptions = { logger: new NestLogger(parts.log), abortOnError: false };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts, lifecycle), adapter, options);
  await app.register(helmet, { contentSecurityPolicy: false });
  guardGraphql(app, config.secret, parts.clock);
  measure(app, parts.metrics, parts.clock);
  document(app);
  await app.listen(config.port, config.host);
  const { port } = new URL(await app.getUrl());
  return {
    url: `http://${config.host}:${port}`,
    port: Number(port),
    stop: async () => {
      parts.board.stop();
      await app.close();
      await lifecycle.stop();
    },
  };
};

/** Artifacts and logs come as bytes and are read as a stream, never into memory at once. */
const acceptBytes = (adapter: FastifyAdapter): void => {
  const pass = (_request: unknown, payload: Readable, done: (error: Error | null, body?: unknown) => void): void =>
    done(null, payload);
  adapter.getInstance().addContentTypeParser('application/octet-stream', pass);
};

/** Resolvers have their own guard; this one keeps the schema itself from strangers. An upgrade is checked where it happens. */
const guardGraphql = (app: NestFastifyApplication, secret: string, clock: Clock): void => {
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', async (request, reply) => {
      const asked = request.url === '/graphql' || request.url.startsWith('/graphql?');
      if (!asked || request.headers.upgrade !== undefined) return;
      const token = bearerToken(request.headers.authorization);
      if (token !== undefined && (await verifyToken(secret, token, clock.now()))) return;
      const problem = toProblem('UNAUTHENTICATED', 'GraphQL needs a valid bearer token');
      await reply.status(problem.status).header('content-type', 'application/problem+json').send(problem);
    });
};

const measure = (app: NestFastifyApplication, metrics: ReturnType<typeof assemble>['metrics'], clock: Clock): void => {
  const begun = new WeakMap<object, number>();
  const fastify = app.getHttpAdapter().getInstance();
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

const document = (app: NestFastifyApplication): void => {
  const description = 'Jobs, nodes, projects and the record of every decision.';
  const builder = new DocumentBuilder().setTitle('Escalon').setDescription(description).setVersion('1').addBearerAuth();
  const document_ = SwaggerModule.createDocument(app, builder.setOpenAPIVersion('3.1.0').build());
  SwaggerModule.setup('docs', app, document_, { jsonDocumentUrl: 'docs/openapi.json' });
};
