import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { RequestMethod } from '@nestjs/common';
import { JobsApiModule } from '#jobs/api';
import { NodesApiModule } from '#nodes/api';
import { REPEATS } from '#platform/http';
import { ProjectsApiModule } from '#projects/api';
import { EventsController } from '../system/events.controller.js';
import { ProjectionsController } from '../system/projections.controller.js';
import { TokensController } from '../system/tokens.controller.js';

type Controller = abstract new (...parts: never[]) => object;

const ofModule = (module: object): Controller[] => Reflect.getMetadata('controllers', module) as Controller[];

const handlersOf = ({ name, prototype }: Controller): { route: string; handler: object; controller: object }[] =>
  Object.getOwnPropertyNames(prototype).map((key) => {
    const handler = (prototype as Record<string, object>)[key]!;
    return { route: `${name}.${key}`, handler, controller: (prototype as { constructor: object }).constructor };
  });

describe('every POST', () => {
  const controllers = [
    ...[JobsApiModule, NodesApiModule, ProjectsApiModule].flatMap(ofModule),
    ...[EventsController, ProjectionsController, TokensController],
  ];
  const posts = controllers
    .flatMap(handlersOf)
    .filter(({ handler }) => Reflect.getMetadata('method', handler) === RequestMethod.POST);

  it('says who sees to it that a repeated request does nothing twice', () => {
    expect(posts.length).toBeGreaterThan(10);
    const silent = posts.filter(({ handler, controller }) =>
      [handler, controller].every((target) => Reflect.getMetadata(REPEATS, target) === undefined),
    );
    expect(silent.map(({ route }) => route)).toEqual([]);
  });
});
