import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import { after, before, suite, test } from 'node:test';

import type { KeyPair } from '../pki/issue.ts';
import { issue, issueCa } from '../pki/issue.ts';
import type { Extension, ExtensionOptions } from '../testing/extension-server.ts';
import { sendJson, startExtension } from '../testing/extension-server.ts';
import type { HttpsServer } from '../testing/https-server.ts';
import { startHttpsServer } from '../testing/https-server.ts';
import { until } from '../testing/until.ts';

const validity = { now: new Date(), days: 1 };
const group = 'example.org';
const resources = [
  {
    name: 'things',
    singularName: 'thing',
    namespaced: true,
    kind: 'Thing',
    verbs: ['get', 'list', 'watch'],
    shortNames: ['th'],
  },
  { name: 'things/status', singularName: '', namespaced: true, kind: 'Thing', verbs: ['get'] },
];
const discoveryV2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

let cluster: HttpsServer;
let frontProxy: KeyPair & { readonly ca: string };

before(async () => {
  const ca = await issueCa('front-proxy-ca', validity);
  const pair = await issue(ca, { use: 'client', commonName: 'front-proxy-client', groups: [] }, validity);
  frontProxy = { ...pair, ca: ca.cert };
  cluster = await startHttpsServer({ frontProxy, loopbackEndpoints: ['127.0.0.0/8'] });
});
after(() => cluster[Symbol.asyncDispose]());

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
  readonly body: any;
}

interface Ask {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

async function open(method: string, path: string, { body, headers = {} }: Ask = {}): Promise<IncomingMessage> {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const type =
    text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  const sent = request(`${cluster.server.url}${path}`, {
    method,
    ca: cluster.ca.cert,
    headers: { authorization: 'Bearer secret', ...type, ...headers },
  });
  sent.end(text);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return response;
}

async function ask(method: string, path: string, options: Ask = {}): Promise<Answer> {
  const response = await open(method, path, options);
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    // plain text
  }
  return { status: response.statusCode ?? 0, text, headers: response.headers, body };
}

const start = (options: Partial<ExtensionOptions> & { readonly version: string }): Promise<Extension> =>
  startExtension({
    group,
    service: { namespace: 'default', name: `things-${options.version}` },
    requestHeaderCa: frontProxy.ca,
    allowedNames: ['front-proxy-client'],
    resources,
    ...options,
  });

/** Creates the Service, its endpoint and the APIService. */
async function register(version: string, port: number, spec: object): Promise<void> {
  const name = `things-${version}`;
  await created('/api/v1/namespaces/default/services', {
    metadata: { name },
    spec: { ports: [{ name: 'https', port: 443 }] },
  });
  await created('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices', {
    metadata: { name, labels: { 'kubernetes.io/service-name': name } },
    addressType: 'IPv4',
    endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
    ports: [{ name: 'https', port }],
  });
  await createApiService(version, spec);
}

const createApiService = (version: string, spec: object, service = `things-${version}`): Promise<void> =>
  created('/apis/apiregistration.k8s.io/v1/apiservices', {
    metadata: { name: `${version}.${group}` },
    spec: {
      group,
      version,
      groupPriorityMinimum: 100,
      versionPriority: 100,
      service: { namespace: 'default', name: service },
      ...spec,
    },
  });

async function created(path: string, body: object): Promise<void> {
  const answer = await ask('POST', path, { body });
  assert.equal(answer.status, 201, answer.text);
}

interface Condition {
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

async function conditionOf(version: string): Promise<Condition | undefined> {
  const { body } = await ask('GET', `/apis/apiregistration.k8s.io/v1/apiservices/${version}.${group}`);
  return body.status.conditions?.[0] as Condition | undefined;
}

const isAvailable = (version: string): Promise<true> =>
  until(`${version} is available`, async () => (await conditionOf(version))?.status === 'True' || undefined);

suite('an aggregated server', () => {
  let extension: Extension;
  before(async () => {
    extension = await start({
      version: 'v1',
      handle(incoming, response) {
        const { pathname, searchParams } = new URL(incoming.url ?? '', 'https://extension');
        if (pathname === '/openapi/v3') {
          const paths = { [`apis/${group}/v1`]: { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=ABC` } };
          sendJson(response, 200, { paths });
        } else if (pathname === '/openapi/v2') {
          const schema = { $ref: '#/definitions/org.example.Thing' };
          const paths = {
            [`/apis/${group}/v1/things`]: { get: { responses: { 200: { schema } } } },
            '/apis/other.org/v1/others': { get: {} },
          };
          const definitions = { 'org.example.Thing': { type: 'object' }, unused: { type: 'object' } };
          sendJson(response, 200, { swagger: '2.0', paths, definitions });
        } else if (pathname === `/openapi/v3/apis/${group}/v1`)
          sendJson(response, 200, { openapi: '3.0.0', of: 'extension' });
        else if (searchParams.get('watch') === '1') {
          response.writeHead(200, { 'Content-Type': 'application/json' });
          response.write('{"type":"ADDED","object":{"metadata":{"name":"one"}}}\n');
        } else if (pathname.endsWith('/redirect')) response.writeHead(302, { Location: 'https://192.0.2.1/' }).end();
        else if (pathname.endsWith('/echo')) incoming.pipe(response.writeHead(200));
        else sendJson(response, 200, { kind: 'ThingList', items: [], path: incoming.url });
      },
    });
    extension.server.on('upgrade', (incoming, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: chat\r\n\r\n');
      socket.write(`user ${String(incoming.headers['x-remote-user'])}\n`);
      socket.pipe(socket);
    });
    await register('v1', extension.port, { caBundle: extension.caBundle });
    await isAvailable('v1');
  });
  after(() => extension[Symbol.asyncDispose]());

  test('is available once its discovery has answered', async () => {
    assert.partialDeepStrictEqual(await conditionOf('v1'), {
      status: 'True',
      reason: 'Passed',
      message: 'all checks passed',
    });
  });

  test('gets requests with the user, and no user that the client names', async () => {
    const path = `/apis/${group}/v1/namespaces/default/things?limit=5`;
    const headers = {
      'x-remote-user': 'mallory',
      'x-remote-group': 'system:masters',
      'x-remote-extra-scopes': 'all',
      'impersonate-user': 'jane',
      'impersonate-group': 'system:masters',
      'impersonate-extra-acme.com%2fproject': 'one',
    };
    const { status, body } = await ask('GET', path, { headers });
    assert.equal(status, 200);
    assert.equal(body.path, path);
    const got = extension.requests.at(-1)?.headers ?? {};
    assert.equal(got['x-remote-user'], 'jane');
    assert.equal(got['x-remote-group'], 'system:masters, system:authenticated');
    assert.equal(got['x-remote-extra-scopes'], undefined);
    assert.equal(got['x-remote-extra-acme.com%2fproject'], 'one');
    assert.equal(got.authorization, undefined);
    assert.equal(got['impersonate-user'], undefined);
    assert.equal(extension.rejected, 0);
  });

  test('authorizes requests before it passes them on', async () => {
    const before = extension.requests.length;
    const path = `/apis/${group}/v1/namespaces/default/things`;
    const { status, body } = await ask('GET', path, { headers: { 'impersonate-user': 'jane' } });
    assert.equal(status, 403);
    assert.match(body.message, /^things.example.org is forbidden: User "jane" cannot list resource "things"/);
    const deep = await ask('GET', `${path}/a/portforward/8080/tcp`, { headers: { 'impersonate-user': 'jane' } });
    assert.match(deep.body.message, /cannot get resource "things\/portforward"/);
    assert.equal(extension.requests.length, before);
  });

  test('does not get paths that it could take for others', async () => {
    for (const path of ['things/../../../nodes', 'things/%2e%2e/nodes', 'namespaces/a%2Fb/things']) {
      const before = extension.requests.length;
      const sent = request(`${cluster.server.url}/`, {
        path: `/apis/${group}/v1/${path}`,
        ca: cluster.ca.cert,
        headers: { authorization: 'Bearer secret' },
      });
      sent.end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.resume();
      assert.equal(response.statusCode, 404, path);
      assert.equal(extension.requests.length, before);
    }
  });

  test('gets bodies', async () => {
    const { status, body } = await ask('POST', `/apis/${group}/v1/echo`, { body: { text: 'x'.repeat(300_000) } });
    assert.equal(status, 200);
    assert.equal(body.text.length, 300_000);
  });

  test('streams watches', async () => {
    const response = await open('GET', `/apis/${group}/v1/things?watch=1`);
    const [chunk] = (await once(response, 'data')) as [Buffer];
    assert.match(chunk.toString(), /"ADDED"/);
    response.destroy();
  });

  test('upgrades connections', async () => {
    const sent = request(`${cluster.server.url}/apis/${group}/v1/namespaces/default/things/a/exec`, {
      ca: cluster.ca.cert,
      headers: { authorization: 'Bearer secret', connection: 'Upgrade', upgrade: 'chat' },
    });
    sent.end();
    const [, socket, head] = (await once(sent, 'upgrade')) as [IncomingMessage, Duplex, Buffer];
    let text = head.toString();
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.write('hello\n');
    await until('the connection echoes', () => text.includes('hello') || undefined);
    assert.match(text, /^user robot\n/);
    socket.destroy();
  });

  test('cannot redirect clients', async () => {
    const { status, text } = await ask('GET', `/apis/${group}/v1/redirect`);
    assert.equal(status, 502);
    assert.equal(text, 'the backend attempted to redirect this request, which is not permitted');
  });

  test('is in discovery', async () => {
    const { body: groups } = await ask('GET', '/apis');
    const found = groups.groups.find(({ name }: { name: string }) => name === group);
    assert.deepEqual(found.preferredVersion, { groupVersion: `${group}/v1`, version: 'v1' });
    assert.equal(groups.groups[0].name, 'apiregistration.k8s.io');
    const { body: one } = await ask('GET', `/apis/${group}`);
    assert.equal(one.kind, 'APIGroup');
    const { body: aggregated } = await ask('GET', '/apis', { headers: { accept: discoveryV2 } });
    const item = aggregated.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
    const version = item.versions.find((each: { version: string }) => each.version === 'v1');
    assert.deepEqual(version, {
      version: 'v1',
      resources: [
        {
          resource: 'things',
          responseKind: { group, version: 'v1', kind: 'Thing' },
          scope: 'Namespaced',
          singularResource: 'thing',
          verbs: ['get', 'list', 'watch'],
          shortNames: ['th'],
          subresources: [
            { subresource: 'status', responseKind: { group, version: 'v1', kind: 'Thing' }, verbs: ['get'] },
          ],
        },
      ],
      freshness: 'Current',
    });
  });

  test('is in the OpenAPI documents', async () => {
    const index = await until('the index has the group', async () => {
      const { body } = await ask('GET', '/openapi/v3');
      return body.paths[`apis/${group}/v1`] as object | undefined;
    });
    assert.deepEqual(index, { serverRelativeURL: `/openapi/v3/apis/${group}/v1?hash=ABC` });
    const { body: document } = await ask('GET', `/openapi/v3/apis/${group}/v1?hash=ABC`);
    assert.equal(document.of, 'extension');
    const { body: swagger } = await until('OpenAPI v2 has the group', async () => {
      const answer = await ask('GET', '/openapi/v2');
      return answer.body.paths[`/apis/${group}/v1/things`] === undefined ? undefined : answer;
    });
    assert.deepEqual(swagger.definitions['org.example.Thing'], { type: 'object' });
    assert.equal(swagger.definitions.unused, undefined);
    assert.equal(swagger.paths['/apis/other.org/v1/others'], undefined);
    assert.ok(swagger.paths['/api/v1/namespaces']);
  });
});

suite('an APIService', () => {
  const rows: readonly {
    readonly name: string;
    readonly version: string;
    readonly prepare: () => Promise<AsyncDisposable | undefined>;
    readonly reason: string;
    readonly message: RegExp;
  }[] = [
    {
      name: 'without its Service',
      version: 'v1alpha1',
      prepare: async () => {
        await createApiService('v1alpha1', {}, 'missing');
        return undefined;
      },
      reason: 'ServiceNotFound',
      message: /^service\/missing in "default" is not present$/,
    },
    {
      name: 'of another port than its Service has',
      version: 'v1alpha2',
      async prepare() {
        await register('v1alpha2', 1, { service: { namespace: 'default', name: 'things-v1alpha2', port: 8443 } });
        return undefined;
      },
      reason: 'ServicePortError',
      message: /^service\/things-v1alpha2 in "default" is not listening on port 8443$/,
    },
    {
      name: 'whose certificate has another authority',
      version: 'v1alpha3',
      async prepare() {
        const extension = await start({ version: 'v1alpha3' });
        await register('v1alpha3', extension.port, { caBundle: Buffer.from(frontProxy.ca).toString('base64') });
        return extension;
      },
      reason: 'FailedDiscoveryCheck',
      message: /^failing or missing response from https:.*: x509: certificate signed by unknown authority$/,
    },
    {
      name: 'whose certificate has expired',
      version: 'v1alpha4',
      async prepare() {
        const extension = await start({ version: 'v1alpha4', certificateDays: -0.5 });
        await register('v1alpha4', extension.port, { caBundle: extension.caBundle });
        return extension;
      },
      reason: 'FailedDiscoveryCheck',
      message: /x509: certificate has expired or is not yet valid$/,
    },
    {
      name: 'whose server does not trust the front proxy',
      version: 'v1alpha5',
      async prepare() {
        const extension = await start({ version: 'v1alpha5', allowedNames: ['other'] });
        await register('v1alpha5', extension.port, { caBundle: extension.caBundle });
        return extension;
      },
      reason: 'FailedDiscoveryCheck',
      message: /^failing or missing response from (https:\S+): bad status from \1: 401$/,
    },
    {
      name: 'whose caBundle is no certificate',
      version: 'v1alpha6',
      async prepare() {
        const extension = await start({ version: 'v1alpha6' });
        await register('v1alpha6', extension.port, { caBundle: Buffer.from('x').toString('base64') });
        return extension;
      },
      reason: 'FailedDiscoveryCheck',
      message: /unable to parse bytes as PEM block$/,
    },
    {
      name: 'behind which nothing listens',
      version: 'v1alpha7',
      async prepare() {
        await register('v1alpha7', 1, { insecureSkipTLSVerify: true });
        return undefined;
      },
      reason: 'FailedDiscoveryCheck',
      message: /connect: connection refused$/,
    },
  ];
  for (const { name, version, prepare, reason, message } of rows) {
    test(`${name} is not available: ${reason}`, async () => {
      await using _extension = await prepare();
      const condition = await until(reason, async () => {
        const found = await conditionOf(version);
        return found?.reason === reason ? found : undefined;
      });
      assert.equal(condition.status, 'False');
      assert.match(condition.message, message);
      const { status, text } = await ask('GET', `/apis/${group}/${version}/things`);
      assert.deepEqual({ status, text }, { status: 503, text: 'service unavailable\n' });
      assert.equal((await ask('GET', '/api/v1/namespaces')).status, 200);
      const { body } = await ask('GET', '/apis', { headers: { accept: discoveryV2 } });
      const item = body.items.find(({ metadata }: { metadata: { name: string } }) => metadata.name === group);
      assert.deepEqual(
        item.versions.find((each: { version: string }) => each.version === version),
        { version, resources: [], freshness: 'Stale' },
      );
    });
  }

  test('whose endpoints are removed, and added again, follows them', async () => {
    await using extension = await start({ version: 'v1beta1' });
    await register('v1beta1', extension.port, { caBundle: extension.caBundle });
    await isAvailable('v1beta1');
    const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/things-v1beta1';
    const { body } = await ask('GET', slice);
    await ask('DELETE', slice);
    await until(
      'not available',
      async () => (await conditionOf('v1beta1'))?.reason === 'EndpointsNotFound' || undefined,
    );
    const { resourceVersion: _, uid: _uid, ...metadata } = body.metadata;
    await created(slice.replace(/\/[^/]*$/, ''), { ...body, metadata });
    await isAvailable('v1beta1');
    assert.equal((await ask('DELETE', `/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.${group}`)).status, 200);
    assert.equal((await ask('GET', `/apis/${group}/v1beta1/things`)).status, 404);
  });

  test('of a server that stalls delays no other request', async () => {
    await using extension = await start({ version: 'v1beta2', handle: () => undefined });
    await register('v1beta2', extension.port, { caBundle: extension.caBundle });
    await isAvailable('v1beta2');
    const stalled = Array.from({ length: 100 }, () => {
      const sent = request(`${cluster.server.url}/apis/${group}/v1beta2/things`, {
        ca: cluster.ca.cert,
        headers: { authorization: 'Bearer secret', 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' },
      });
      sent.on('error', () => undefined);
      sent.end();
      return sent;
    });
    await until(
      'the requests stall',
      () => extension.requests.filter(({ url }) => url.endsWith('/things')).length >= 100 || undefined,
    );
    const began = performance.now();
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': 'system:masters' };
    assert.equal((await ask('GET', '/api/v1/namespaces', { headers })).status, 200);
    assert.equal((await ask('GET', '/apis', { headers: { ...headers, accept: discoveryV2 } })).status, 200);
    assert.ok(performance.now() - began < 2000);
    for (const sent of stalled) sent.destroy();
  });

  test('of a server that answers garbage has no resources, and affects no other group', async () => {
    const garbage = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.end('garbage\r\n\r\n');
    });
    garbage.listen(0, '127.0.0.1');
    await once(garbage, 'listening');
    const { port } = garbage.address() as AddressInfo;
    await register('v1beta3', port, { insecureSkipTLSVerify: true });
    await until(
      'not available',
      async () => (await conditionOf('v1beta3'))?.reason === 'FailedDiscoveryCheck' || undefined,
    );
    assert.equal((await ask('GET', `/apis/${group}/v1beta3/things`)).text, 'service unavailable\n');
    garbage.close();
  });
});

suite('the APIServices of the server itself', () => {
  const path = '/apis/apiregistration.k8s.io/v1/apiservices';
  test('are local and available', async () => {
    const { body } = await ask('GET', path);
    const names = body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    for (const name of ['v1.', 'v1.apps', 'v2.autoscaling', 'v1.rbac.authorization.k8s.io'])
      assert.ok(names.includes(name), name);
    assert.ok(!names.some((name: string) => name.endsWith('metrics.k8s.io')));
    const { body: apps } = await ask('GET', `${path}/v1.apps`);
    assert.partialDeepStrictEqual(apps, {
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
      spec: { group: 'apps', version: 'v1', groupPriorityMinimum: 17_800, versionPriority: 15 },
      status: {
        conditions: [
          { type: 'Available', status: 'True', reason: 'Local', message: 'Local APIServices are always available' },
        ],
      },
    });
  });

  test('come and go with custom resources', async () => {
    await created('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'widgets.shop.example.org' },
      spec: {
        group: 'shop.example.org',
        names: { plural: 'widgets', kind: 'Widget' },
        scope: 'Namespaced',
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    });
    const url = `${path}/v1.shop.example.org`;
    const { body } = await until('it is registered', async () => {
      const answer = await ask('GET', url);
      return answer.status === 200 ? answer : undefined;
    });
    assert.partialDeepStrictEqual(body.spec, { groupPriorityMinimum: 1000, versionPriority: 100 });
    await ask('DELETE', url);
    await until('it is restored', async () => (await ask('GET', url)).status === 200 || undefined);
    await ask('DELETE', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.shop.example.org');
    await until('it is removed', async () => (await ask('GET', url)).status === 404 || undefined);
  });

  test('the kinds of metrics.k8s.io are served without one, and replaced by one of a user', async () => {
    assert.equal((await ask('GET', '/apis/metrics.k8s.io/v1beta1/nodes')).body.kind, 'NodeMetricsList');
    await using extension = await startExtension({
      group: 'metrics.k8s.io',
      version: 'v1beta1',
      service: { namespace: 'default', name: 'things-metrics' },
      requestHeaderCa: frontProxy.ca,
      allowedNames: ['front-proxy-client'],
      resources: [{ name: 'nodes', singularName: '', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] }],
      handle: (_request, response) =>
        sendJson(response, 200, { kind: 'NodeMetricsList', metadata: { selfLink: 'extension' } }),
    });
    await register('metrics', extension.port, { insecureSkipTLSVerify: true });
    await ask('DELETE', `${path}/metrics.${group}`);
    await created(path, {
      metadata: { name: 'v1beta1.metrics.k8s.io' },
      spec: {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        groupPriorityMinimum: 100,
        versionPriority: 100,
        insecureSkipTLSVerify: true,
        service: { namespace: 'default', name: 'things-metrics' },
      },
    });
    await until('the extension answers', async () => {
      const { body } = await ask('GET', '/apis/metrics.k8s.io/v1beta1/nodes');
      return body?.metadata?.selfLink === 'extension' || undefined;
    });
    await ask('DELETE', `${path}/v1beta1.metrics.k8s.io`);
    assert.deepEqual((await ask('GET', '/apis/metrics.k8s.io/v1beta1/nodes')).body.items, []);
  });
});

test('the ConfigMap for aggregated servers has the authorities', async () => {
  const { body } = await ask('GET', '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication');
  assert.deepEqual(body.data, {
    'client-ca-file': cluster.ca.cert.endsWith('\n') ? cluster.ca.cert : `${cluster.ca.cert}\n`,
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-client-ca-file': frontProxy.ca.endsWith('\n') ? frontProxy.ca : `${frontProxy.ca}\n`,
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-username-headers': '["X-Remote-User"]',
  });
});
