import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EventStoreDBClient } from '@eventstore/db-client';
import { all, errorOf, event, freshStream, startBench, temporaryFolder } from './harness.js';
import type { Bench } from './harness.js';

const folder = temporaryFolder();
const [certFile, keyFile] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
const users = [
  { name: 'admin', password: 'admin secret', groups: ['$admins'] },
  { name: 'ops', password: 'o:p:s', groups: ['$ops'] },
  { name: 'ana', password: 'pässwörd', groups: ['scientists'] },
  { name: 'bob', password: 'bob', groups: [] },
];

/** The system's own. */
const OPENSSL = 'openssl';

/** A certificate of its own for localhost, as an operator would make it. */
const makeCertificate = (): void => {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
  execFileSync(OPENSSL, [...args, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
};

let bench: Bench;
const clients: EventStoreDBClient[] = [];
const as = (name?: string, password = users.find((user) => user.name === name)?.password ?? ''): EventStoreDBClient => {
  const login = name === undefined ? '' : `${name}:${encodeURIComponent(password)}@`;
  const client = EventStoreDBClient.connectionString(
    `esdb://${login}localhost:${bench.store.port}?tls=true&tlsCAFile=${certFile}`,
  );
  clients.push(client);
  return client;
};

afterAll(async () => {
  await Promise.all(clients.map((client) => client.dispose()));
  rmSync(folder, { recursive: true, force: true });
});

describe('with TLS and users', () => {
  beforeAll(async () => {
    makeCertificate();
    bench = await startBench({ tls: { certFile, keyFile }, users });
  });
  afterAll(() => bench.close());

  const denied = { type: 'access-denied' };

  it('serves accounts whose name and password belong together', async () => {
    const stream = freshStream();
    for (const name of ['admin', 'ops', 'ana', 'bob']) await as(name).appendToStream(stream, event());
    expect(await all(as('bob').readStream(stream))).toHaveLength(4);
  });

  it('refuses wrong passwords, unknown names and callers without credentials', async () => {
    const stream = freshStream();
    await as('bob').appendToStream(stream, event());
    for (const client of [as('ana', 'wrong'), as('nobody', 'x'), as()]) {
      expect(await errorOf(client.appendToStream(stream, event()))).toMatchObject(denied);
      expect(await errorOf(all(client.readStream(stream)))).toMatchObject(denied);
      expect(await errorOf(client.deleteStream(stream))).toMatchObject(denied);
    }
    expect(await all(as('bob').readStream(stream))).toHaveLength(1);
  });

  it('takes the credentials of a call over those of the connection', async () => {
    const stream = freshStream();
    const credentials = { username: 'ana', password: 'pässwörd' };
    await as('bob', 'wrong').appendToStream(stream, event(), { credentials });
    expect(await all(as('bob', 'wrong').readStream(stream, { credentials }))).toHaveLength(1);
  });

  it('asks the access list of the stream, by account and by group', async () => {
    const stream = freshStream();
    await as('admin').appendToStream(stream, event());
    const acl = { readRoles: ['scientists', 'bob'], writeRoles: ['scientists'], deleteRoles: ['bob'] };
    await as('admin').setStreamMetadata(stream, {
      acl: { ...acl, metaReadRoles: ['bob'], metaWriteRoles: ['$admins'] },
    });
    const [ana, bob, ops] = [as('ana'), as('bob'), as('ops')];
    await ana.appendToStream(stream, event());
    expect(await errorOf(bob.appendToStream(stream, event()))).toMatchObject(denied);
    const credentials = { username: 'bob', password: 'bob' };
    expect(await errorOf(bob.appendToStream(stream, event(), { credentials }))).toMatchObject(denied);
    expect(await all(bob.readStream(stream))).toHaveLength(2);
    expect(await errorOf(all(ops.readStream(stream)))).toMatchObject(denied);
    expect(await errorOf(ana.getStreamMetadata(stream))).toMatchObject(denied);
    expect((await bob.getStreamMetadata(stream)).metadata?.acl).toMatchObject(acl);
    expect(await errorOf(bob.setStreamMetadata(stream, {}))).toMatchObject(denied);
    expect(await errorOf(ana.tombstoneStream(stream))).toMatchObject(denied);
    await bob.deleteStream(stream);
  });

  it('keeps $all and system streams to administrators', async () => {
    expect((await all(as('admin').readAll())).length).toBeGreaterThan(0);
    for (const name of ['ops', 'ana']) {
      expect(await errorOf(all(as(name).readAll()))).toMatchObject(denied);
      expect(await errorOf(as(name).appendToStream('$mine', event()))).toMatchObject(denied);
    }
    const subscription = as('ana').subscribeToAll();
    subscription.on('data', () => undefined);
    expect(await errorOf(new Promise((_, reject) => subscription.once('error', reject)))).toMatchObject(denied);
    expect(await errorOf(as('admin').appendToStream('$all', event()))).toMatchObject(denied);
  });

  it('lets the defaults be changed in $settings', async () => {
    const settings = { $userStreamAcl: { $r: '$all', $w: 'ana', $d: 'ana' }, $systemStreamAcl: { $r: ['ops', 'ana'] } };
    await as('admin').appendToStream('$settings', { ...event('settings'), data: settings as never });
    expect(await errorOf(as('bob').appendToStream(freshStream(), event()))).toMatchObject(denied);
    await as('ana').appendToStream(freshStream(), event());
    expect((await all(as('ana').readAll())).length).toBeGreaterThan(0);
  });
});

describe('with TLS and no users', () => {
  beforeAll(async () => {
    bench = await startBench({ tls: { certFile, keyFile } });
  });
  afterAll(() => bench.close());

  it('has the accounts of a new EventStoreDB', async () => {
    const stream = freshStream();
    await as('admin', 'changeit').appendToStream(stream, event());
    expect(await all(as('ops', 'changeit').readStream(stream))).toHaveLength(1);
    expect(await errorOf(as().appendToStream(stream, event()))).toMatchObject({ type: 'access-denied' });
  });

  it('fails in the client when the certificate is not trusted', async () => {
    const client = EventStoreDBClient.connectionString(`esdb://admin:changeit@localhost:${bench.store.port}?tls=true`);
    expect(await errorOf(client.appendToStream(freshStream(), event()))).toMatchObject({ code: 14 });
    await client.dispose();
  });
});

describe('with anonymous callers allowed', () => {
  beforeAll(async () => {
    bench = await startBench({ tls: { certFile, keyFile }, users, allowAnonymous: true });
  });
  afterAll(() => bench.close());

  it('treats them as one of everyone', async () => {
    const stream = freshStream();
    await as().appendToStream(stream, event());
    expect(await all(as().readStream(stream))).toHaveLength(1);
    expect(await errorOf(all(as().readAll()))).toMatchObject({ type: 'access-denied' });
  });
});

describe('without users and TLS', () => {
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench.close());

  it('lets everyone do everything but write $all or delete a metadata stream', async () => {
    const stream = freshStream();
    await bench.client.setStreamMetadata(stream, { acl: { readRoles: ['$admins'], writeRoles: ['$admins'] } });
    await bench.client.appendToStream(stream, event());
    expect(await all(bench.client.readStream(stream))).toHaveLength(1);
    const denied = { type: 'access-denied' };
    expect(await errorOf(bench.client.appendToStream('$all', event()))).toMatchObject(denied);
    expect(await errorOf(bench.client.deleteStream(`$$${stream}`))).toMatchObject(denied);
  });
});
