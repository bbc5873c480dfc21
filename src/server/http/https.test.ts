import assert from 'node:assert/strict';
import { connect } from 'node:http2';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { after, before, suite, test } from 'node:test';
import { gunzipSync } from 'node:zlib';

import type { KeyPair } from '../pki/issue.ts';
import type { HttpsServer } from '../testing/https-server.ts';
import { adminCertificate, startHttpsServer, testCa } from '../testing/https-server.ts';

let running: HttpsServer;
let stranger: KeyPair;

before(async () => {
  running = await startHttpsServer();
  stranger = await adminCertificate(await testCa('other-ca'));
});
after(() => running[Symbol.asyncDispose]());

interface RequestSettings {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly as?: KeyPair | undefined;
}

interface Answered {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

/** One request over HTTP/1.1 on its own connection. */
function ask(path: string, { method = 'GET', headers = {}, body = '', as }: RequestSettings = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const identity = as === undefined ? {} : { cert: as.cert, key: as.key };
    const options = { method, headers, ca: running.ca.cert, agent: false, ...identity };
    const sent = request(`${running.server.url}${path}`, options, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', reject);
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) }),
      );
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const messageOf = ({ bytes }: Answered): string => (JSON.parse(bytes.toString()) as { message: string }).message;
const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });
const services = '/api/v1/namespaces/default/services';

suite('authentication', () => {
  test('authenticates a client certificate of our authority, and a token', async () => {
    assert.equal((await ask(services, { as: running.admin })).status, 200);
    assert.equal((await ask(services, { headers: bearer('secret') })).status, 200);
    assert.equal((await ask(services, { headers: { authorization: 'bearer secret' } })).status, 200);
  });

  test('returns 401 for a wrong token and for a certificate of another authority', async () => {
    for (const requested of [{ headers: bearer('wrong') }, { as: stranger }]) {
      const answer = await ask(services, requested);
      assert.equal(answer.status, 401);
      assert.equal(messageOf(answer), 'Unauthorized');
    }
  });

  test('ignores Authorization headers without a bearer token', async () => {
    for (const authorization of ['Basic c2VjcmV0', 'Bearer', 'Bearer  secret']) {
      assert.equal((await ask(services, { headers: { authorization } })).status, 403, authorization);
    }
    assert.equal(
      (await ask(services, { as: running.admin, headers: { authorization: 'Basic c2VjcmV0' } })).status,
      200,
    );
  });

  test('accepts a valid token with an invalid certificate', async () => {
    assert.equal((await ask(services, { as: stranger, headers: bearer('secret') })).status, 200);
  });

  test('serves health and version to anonymous clients, and a reason for every other path', async () => {
    for (const path of ['/healthz', '/livez', '/readyz', '/version']) assert.equal((await ask(path)).status, 200, path);
    const user = 'User "system:anonymous" cannot';
    const table: readonly [method: string, path: string, message: string][] = [
      [
        'GET',
        services,
        `services is forbidden: ${user} list resource "services" in API group "" in the namespace "default"`,
      ],
      [
        'GET',
        `${services}/web`,
        `services "web" is forbidden: ${user} get resource "services" in API group "" in the namespace "default"`,
      ],
      [
        'GET',
        '/api/v1/nodes',
        `nodes is forbidden: ${user} list resource "nodes" in API group "" at the cluster scope`,
      ],
      [
        'PUT',
        '/apis/networking.k8s.io/v1/namespaces/a/ingresses/b/status',
        `ingresses.networking.k8s.io "b" is forbidden: ${user} update resource "ingresses/status" in API group "networking.k8s.io" in the namespace "a"`,
      ],
      ['GET', '/metrics', `forbidden: ${user} get path "/metrics"`],
      ['POST', '/a&b', `forbidden: ${user} post path "/a&amp;b"`],
    ];
    for (const [method, path, message] of table) {
      const answer = await ask(path, { method });
      assert.equal(answer.status, 403, path);
      assert.equal(messageOf(answer), message);
    }
  });
});

suite('HTTP/1.1', () => {
  test('accepts a body of three megabytes and rejects a longer one with a 413', async () => {
    const maps = '/api/v1/namespaces/default/configmaps';
    const map = (length: number): string =>
      JSON.stringify({ metadata: { name: 'big' }, data: { k: 'x'.repeat(length) } });
    const headers = { 'content-type': 'application/json' };
    const taken = await ask(`${maps}?dryRun=All`, { method: 'POST', as: running.admin, headers, body: map(900_000) });
    assert.equal(taken.status, 201);
    const refused = await ask(maps, { method: 'POST', as: running.admin, headers, body: map(3_200_000) });
    assert.equal(refused.status, 413);
    assert.equal(messageOf(refused), 'Request entity too large: limit is 3145728');
  });

  test('compresses long replies for clients that accept gzip', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const long = await ask('/openapi/v2', { as: running.admin, headers });
    assert.equal(long.headers['content-encoding'], 'gzip');
    assert.match(long.headers.vary ?? '', /Accept-Encoding/);
    assert.equal((JSON.parse(gunzipSync(long.bytes).toString()) as { swagger: string }).swagger, '2.0');
    const plain = await ask('/openapi/v2', { as: running.admin });
    assert.equal(plain.headers['content-encoding'], undefined);
    assert.ok(plain.bytes.length > 128 * 1024);
    assert.equal((await ask(services, { as: running.admin, headers })).headers['content-encoding'], undefined);
  });

  test('returns no body for HEAD', async () => {
    const { status, bytes } = await ask(`${services}/kubernetes`, { method: 'HEAD', as: running.admin });
    assert.deepEqual([status, bytes.length], [200, 0]);
  });

  test('sends the headers of a watch before its first event', async () => {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const url = `${running.server.url}${services}?watch=1&resourceVersion=${running.store.revision}`;
      request(url, { ca: running.ca.cert, ...running.admin, agent: false }, resolve)
        .on('error', reject)
        .end();
    });
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.equal(answer.headers['transfer-encoding'], 'chunked');
    const line = new Promise<string>((resolve) => answer.once('data', (chunk: Buffer) => resolve(chunk.toString())));
    await ask(services, {
      method: 'POST',
      as: running.admin,
      body: JSON.stringify({ metadata: { name: 'seen' }, spec: { ports: [{ port: 80 }] } }),
    });
    assert.match(await line, /^\{"type":"ADDED",.*"name":"seen".*\}\n$/);
    answer.destroy();
  });
});

test('serves many requests and watches on one HTTP/2 connection', async () => {
  const session = connect(running.server.url, {
    ca: running.ca.cert,
    ...running.admin,
  });
  try {
    const answers = Array.from({ length: 20 }, async () => {
      const stream = session.request({ ':path': `${services}?watch=1&timeoutSeconds=1` });
      return new Promise<number>((resolve, reject) => {
        stream.once('response', (headers) => {
          resolve(Number(headers[':status']));
          stream.close();
        });
        stream.once('error', reject);
      });
    });
    for (const status of await Promise.all(answers)) assert.equal(status, 200);
  } finally {
    await new Promise<void>((resolve) => session.close(resolve));
  }
});
