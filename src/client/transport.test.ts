import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { pino } from 'pino';
import { gatesWith } from '../api/gates.ts';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import type { KeyPair } from '../server/pki/issue.ts';
import { issue, issueCa } from '../server/pki/issue.ts';
import type { RunningServer } from '../server/server.ts';
import { startServer } from '../server/server.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import type { Store } from '../store/store.ts';
import { openMemoryStore } from '../store/memory/memory.ts';
import { Client } from './client.ts';
import { overHttps } from './https.ts';
import { inProcess } from './in-process.ts';
import { Informer } from './informer.ts';
import { hasStatusCode } from './transport.ts';
import { transportContract } from './testing/transport-contract.ts';

/** The next event of a watch; undefined at its end. */
async function nextOf<T>(events: AsyncGenerator<T>): Promise<T | undefined> {
  const { value, done } = await events.next();
  return done === true ? undefined : value;
}

suite('in process', () => {
  let server: TestServer;
  before(async () => {
    server = await testServer();
  });
  after(() => server[Symbol.asyncDispose]());
  const user = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
  transportContract('in process', () => inProcess((request) => server.handle({ ...request, user })));
});

suite('over TLS', () => {
  let [store, server]: [Store, RunningServer] = [undefined as never, undefined as never];
  let [ca, admin]: [KeyPair, KeyPair] = [undefined as never, undefined as never];
  const adminAccess = () => ({ server: server.url, ca: ca.cert, credentials: async () => ({ ...admin }) });
  before(async () => {
    const validity = { now: new Date(), days: 1 };
    ca = await issueCa('test-ca', validity);
    const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
    const serving = await issue(ca, { use: 'server', commonName: 'test', names }, validity);
    admin = await issue(ca, { use: 'client', commonName: 'admin', groups: ['system:masters'] }, validity);
    store = openMemoryStore();
    server = await startServer({
      name: 'test',
      version: '0.0.0',
      store,
      listen: { host: '127.0.0.1', port: 0 },
      tls: { ...serving, ca: ca.cert },
      gates: gatesWith({}),
      serviceCidrs: ['10.0.0.0/24'],
      nodePorts: { from: 30000, to: 32767 },
      loopbackEndpoints: [],
      tokens: [{ token: 'secret', user: 'robot', uid: '7', groups: ['system:masters'] }],
      log: pino({ level: 'silent' }),
    });
    using client = new Client(overHttps(adminAccess()));
    const name = { namespace: 'default', name: 'kube-root-ca.crt' };
    await until('the namespace is complete', () => client.find(configMapKind, name));
  });
  after(async () => {
    await server.close();
    await store.close();
  });

  transportContract('over TLS', () => overHttps(adminAccess()));

  test('authenticates with a token or a certificate; without both the user is anonymous', async () => {
    const access = { server: server.url, ca: ca.cert };
    using robot = new Client(overHttps({ ...access, credentials: async () => ({ token: 'secret' }) }));
    assert.ok((await robot.list(configMapKind)).items.length > 0);
    using nobody = new Client(overHttps({ ...access, credentials: async () => ({}) }));
    await assert.rejects(nobody.list(configMapKind), (error) => hasStatusCode(error, 403));
    using liar = new Client(overHttps({ ...access, credentials: async () => ({ token: 'wrong' }) }));
    await assert.rejects(liar.list(configMapKind), (error) => hasStatusCode(error, 401));
  });

  test('rejects a server with an unknown CA unless insecureSkipTlsVerify is set', async () => {
    const credentials = async () => ({ token: 'secret' });
    using careful = new Client(overHttps({ server: server.url, credentials }));
    await assert.rejects(careful.list(configMapKind), { code: /SELF_SIGNED|UNABLE_TO_VERIFY/ });
    using misled = new Client(overHttps({ server: server.url, ca: ca.cert, tlsServerName: 'other', credentials }));
    await assert.rejects(misled.list(configMapKind), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    using careless = new Client(overHttps({ server: server.url, insecureSkipTlsVerify: true, credentials }));
    assert.ok((await careless.list(configMapKind)).items.length > 0);
  });

  test('uses a replaced client certificate from the next request on and keeps streams open', async () => {
    const validity = { now: new Date(), days: 1 };
    const next = await issue(ca, { use: 'client', commonName: 'next', groups: ['system:masters'] }, validity);
    let identity = admin;
    using transport = overHttps({ ...adminAccess(), credentials: async () => ({ ...identity }) });
    const client = new Client(transport);
    const metadata = { name: 'renewed', namespace: 'default' };
    await client.create(configMapKind, { metadata });
    const selection = { namespace: 'default', fieldSelector: 'metadata.name=renewed' };
    const events = client.watch(configMapKind, { ...selection, resourceVersion: '' });
    assert.equal((await nextOf(events))?.type, 'ADDED');
    identity = next;
    await client.patch(configMapKind, metadata, { body: { data: { a: '1' } } });
    let event = await nextOf(events);
    while (event?.type === 'BOOKMARK') event = await nextOf(events);
    assert.equal(event?.type, 'MODIFIED');
    await events.return(undefined);
  });

  test('an informer works over TLS', async () => {
    using client = new Client(overHttps(adminAccess()));
    const informer = new Informer(client, configMapKind, { namespace: 'default' });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    await informer.synced(stop.signal);
    await client.create(configMapKind, { metadata: { name: 'followed', namespace: 'default' } });
    await until('it is seen', () => informer.get('default/followed'));
    stop.abort();
    await running;
  });
});
