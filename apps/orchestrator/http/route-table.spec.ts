import { describe, expect, it } from '@jest/globals';
import { RouteTable } from './route-table.js';

describe('a table of routes', () => {
  const routes = new RouteTable();
  routes.add('/v1/jobs', ['GET', 'HEAD']);
  routes.add('/v1/jobs', ['POST']);
  routes.add('/v1/jobs/:id', ['GET']);
  routes.add('/docs/openapi.json', ['GET']);
  routes.add('/docs/*', ['GET']);

  it('names every method of a path, whatever its query', () => {
    expect(routes.methodsAt('/v1/jobs?limit=1')).toEqual(['GET', 'HEAD', 'POST']);
    expect(routes.methodsAt('/v1/jobs/7')).toEqual(['GET']);
  });

  it('knows no method of a path that is not there', () => {
    for (const path of ['/v1/jobs/7/8', '/v1/jobs/', '/v1/job', '/docs/openapi_json', '/docs/x']) {
      expect(routes.methodsAt(path)).toEqual([]);
    }
  });
});
