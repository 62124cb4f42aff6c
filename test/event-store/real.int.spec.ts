import { it } from '@jest/globals';
import { eventStoreConformance } from '#event-store/conformance';
import { connect } from './servers.js';

// The same suite on a real server or cluster. It uses names of its own, so the server may be in use by others.
const url = process.env['ESDB_URL'];
if (url) {
  eventStoreConformance('server at ESDB_URL', async () => {
    const store = connect(url);
    return { store, close: () => store.close() };
  });
} else {
  it.skip('conformance on a real server: set ESDB_URL', () => undefined);
}
