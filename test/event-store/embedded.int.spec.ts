import { afterAll, beforeAll } from '@jest/globals';
import { eventStoreConformance } from '#event-store/conformance';
import { connect, startServer } from './servers.js';
import type { ServerInProcess } from './servers.js';

let server: ServerInProcess | undefined;
beforeAll(async () => {
  server = await startServer();
});
afterAll(() => server?.stop());

eventStoreConformance('embedded server', async () => {
  if (!server) throw new Error('the server did not start');
  const store = connect(server.url);
  return { store, close: () => store.close() };
});
