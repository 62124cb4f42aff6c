import 'reflect-metadata';
import helmet from '@fastify/helmet';
import type { NestApplicationOptions } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import type { Millis } from '#kernel';
import { JobChanges } from '#jobs/api';
import { EventStreams } from '#platform/http';
import { AppModule } from './app.module.js';
import type { Config } from './config/config.js';
import { createAdapter } from './http/adapter.js';
import { gate, guardGraphql, measure } from './http/hooks.js';
import { measureReads } from './system/measure-reads.js';
import { Lifecycle } from './lifecycle.js';
import { NestLogger } from './nest-logger.js';
import { assemble } from './parts.js';
import type { Parts } from './parts.js';

/** A running control plane. */
export interface Orchestrator {
  readonly url: string;
  readonly port: number;
  /** Resolves when everything is served. */
  readonly ready: Promise<void>;
  /** In order: nothing new is taken, what is under way is answered, then everything is closed. */
  stop(): Promise<void>;
}

/** How long requests are still answered with "come back", in milliseconds. */
const LAST_ORDERS: Millis = 500;
/** Longest that requests under way may take to end when the process stops, in milliseconds. */
const DRAIN: Millis = 10_000;

/**
 * Starts the control plane in this process and answers once it listens: health from then on, everything else when
 * `ready` resolves, which is when the stores are there and the view is live. `onFault` is told when something broke that
 * cannot be mended in place: the process should end and be started again.
 */
export const startOrchestrator = async (config: Config, onFault: (error: Error) => void): Promise<Orchestrator> => {
  const parts = assemble(config, onFault);
  const lifecycle = new Lifecycle(parts);
  const app = await createApp(parts, lifecycle);
  await app.listen(config.port, config.host);
  const { port } = new URL(await app.getUrl());
  return {
    url: `http://${config.host}:${port}`,
    port: Number(port),
    ready: lifecycle.start(),
    stop: async () => {
      lifecycle.stopServing();
      app.get(EventStreams).endAll();
      // What is on its way already is told to come back; cut off, its sender could not know what became of it.
      await new Promise<void>((resolve) => void parts.timers.after(LAST_ORDERS, resolve));
      const cut = parts.timers.after(DRAIN, () => app.getHttpServer().closeAllConnections());
      await app.close();
      cut.cancel();
      await lifecycle.stop();
    },
  };
};

const createApp = async (parts: Parts, lifecycle: Lifecycle): Promise<NestFastifyApplication> => {
  const adapter = createAdapter();
  // Nest declares its options as a class and takes a plain object.
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment
  const options: NestApplicationOptions = { logger: new NestLogger(parts.log), abortOnError: false, bodyParser: false };
  const app = await NestFactory.create<NestFastifyApplication>(AppModule.of(parts, lifecycle), adapter, options);
  await app.register(helmet, { contentSecurityPolicy: false });
  const fastify = app.getHttpAdapter().getInstance();
  measure(fastify, parts.metrics, parts.clock);
  gate(fastify, () => lifecycle.serves);
  guardGraphql(fastify, parts.tokens, parts.clock);
  document(app);
  measureReads(parts, app.get(EventStreams), app.get(JobChanges, { strict: false }));
  return app;
};

const document = (app: NestFastifyApplication): void => {
  const description = 'Jobs, nodes, projects and the record of every decision.';
  const builder = new DocumentBuilder().setTitle('Escalon').setDescription(description).setVersion('1').addBearerAuth();
  const document_ = SwaggerModule.createDocument(app, builder.setOpenAPIVersion('3.1.0').build());
  SwaggerModule.setup('docs', app, document_, { jsonDocumentUrl: 'docs/openapi.json' });
};
