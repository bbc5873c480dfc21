import assert from 'node:assert/strict';
import { after, before, suite, test } from 'node:test';
import { configMapKind } from '../api/kinds/core/configmap/kind.ts';
import type { HttpsServer } from '../server/testing/https-server.ts';
import { adminCertificate, startHttpsServer } from '../server/testing/https-server.ts';
import type { TestServer } from '../server/testing/server.ts';
import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
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
  let running: HttpsServer;
  const adminAccess = () => ({
    server: running.server.url,
    ca: running.ca.cert,
    credentials: async () => ({ ...running.admin }),
  });
  before(async () => {
    running = await startHttpsServer();
    using client = new Client(overHttps(adminAccess()));
    const name = { namespace: 'default', name: 'kube-root-ca.crt' };
    await until('the namespace is complete', () => client.find(configMapKind, name));
  });
  after(() => running[Symbol.asyncDispose]());

  transportContract('over TLS', () => overHttps(adminAccess()));

  test('authenticates with a token or a certificate; without both the user is anonymous', async () => {
    const access = { server: running.server.url, ca: running.ca.cert };
    using robot = new Client(overHttps({ ...access, credentials: async () => ({ token: 'secret' }) }));
    assert.ok((await robot.list(configMapKind)).items.length > 0);
    using nobody = new Client(overHttps({ ...access, credentials: async () => ({}) }));
    await assert.rejects(nobody.list(configMapKind), (error) => hasStatusCode(error, 403));
    using liar = new Client(overHttps({ ...access, credentials: async () => ({ token: 'wrong' }) }));
    await assert.rejects(liar.list(configMapKind), (error) => hasStatusCode(error, 401));
  });

  test('rejects a server with an unknown CA unless insecureSkipTlsVerify is set', async () => {
    const credentials = async () => ({ token: 'secret' });
    using careful = new Client(overHttps({ server: running.server.url, credentials }));
    await assert.rejects(careful.list(configMapKind), { code: /SELF_SIGNED|UNABLE_TO_VERIFY/ });
    using misled = new Client(
      overHttps({ server: running.server.url, ca: running.ca.cert, tlsServerName: 'other', credentials }),
    );
    await assert.rejects(misled.list(configMapKind), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
    using careless = new Client(overHttps({ server: running.server.url, insecureSkipTlsVerify: true, credentials }));
    assert.ok((await careless.list(configMapKind)).items.length > 0);
  });

  test('uses a replaced client certificate from the next request on and keeps streams open', async () => {
    const next = await adminCertificate(running.ca, 'next');
    let identity = running.admin;
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
    const ended = informer.run(stop.signal);
    await informer.synced(stop.signal);
    await client.create(configMapKind, { metadata: { name: 'followed', namespace: 'default' } });
    await until('the informer has the object', () => informer.get('default/followed'));
    stop.abort();
    await ended;
  });
});
