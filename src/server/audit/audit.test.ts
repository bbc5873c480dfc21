import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';

import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';
import type { AuditLevel } from './options.ts';

let directory = '';
before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fairlead-audit-'));
});
after(() => rm(directory, { recursive: true }));

// oxlint-disable-next-line typescript/no-explicit-any -- a test reads any shape
type Event = any;

let count = 0;
/** The audit events of the requests in `work`. */
async function audited(level: AuditLevel, work: (server: TestServer) => Promise<unknown>): Promise<Event[]> {
  const path = join(directory, `${++count}.log`);
  {
    await using server = await testServer({
      audit: { path, level, maxBytes: Infinity, maxBackups: 0, maxAgeDays: 0 },
    });
    await work(server);
  }
  const text = await readFile(path, 'utf8');
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Event);
}

const configMaps = '/api/v1/namespaces/default/configmaps';
const secrets = '/api/v1/namespaces/default/secrets';

test('writes events of audit.k8s.io/v1', async () => {
  const [event, ...others] = await audited('Metadata', (server) =>
    server.ask('POST', `${configMaps}?fieldManager=me`, {
      body: { metadata: { name: 'a' }, data: { key: 'value' } },
      headers: { 'audit-id': 'mine', 'user-agent': 'test/1' },
    }),
  );
  assert.deepEqual(others, []);
  const { requestReceivedTimestamp, stageTimestamp, ...rest } = event;
  for (const time of [requestReceivedTimestamp, stageTimestamp]) assert.match(time, /^\d{4}-.*T.*\.\d{6}Z$/);
  assert.deepEqual(rest, {
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'Metadata',
    auditID: 'mine',
    stage: 'ResponseComplete',
    requestURI: `${configMaps}?fieldManager=me`,
    verb: 'create',
    user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
    userAgent: 'test/1',
    objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
    responseStatus: { metadata: {}, code: 201 },
  });
});

suite('a request is logged with', () => {
  const table: readonly {
    name: string;
    level?: AuditLevel;
    url: string;
    method?: string;
    body: unknown;
    want: unknown;
  }[] = [
    { name: 'the object', url: configMaps, body: { metadata: { name: 'a' } }, want: { metadata: { name: 'a' } } },
    {
      name: 'no object at level Metadata',
      level: 'Metadata',
      url: configMaps,
      body: { metadata: { name: 'a' } },
      want: undefined,
    },
    {
      name: 'no object for a Secret',
      url: secrets,
      body: { metadata: { name: 'a' }, stringData: { a: 'hush' } },
      want: undefined,
    },
    {
      name: 'no object for a patch of a Secret',
      method: 'PATCH',
      url: `${secrets}/a`,
      body: { stringData: { a: 'hush' } },
      want: undefined,
    },
    {
      name: 'no object for a Secret in another path',
      url: configMaps,
      body: { kind: 'Secret', data: { a: 'hush' } },
      want: undefined,
    },
    {
      name: 'no object for a token review',
      url: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { spec: { token: 'hush' } },
      want: undefined,
    },
    {
      name: 'no object for a token request',
      url: '/api/v1/namespaces/default/serviceaccounts/default/token',
      body: { spec: { audiences: ['hush'] } },
      want: undefined,
    },
    { name: 'no object for YAML', url: configMaps, body: 'hush: [', want: undefined },
  ];
  for (const { name, level = 'Request', url, method = 'POST', body, want } of table) {
    test(name, async () => {
      const events = await audited(level, (server) =>
        server.ask(method, url, { body, ...(method === 'PATCH' ? { type: 'application/merge-patch+json' } : {}) }),
      );
      assert.deepEqual(events[0].requestObject, want);
      assert.ok(!JSON.stringify(events).includes('hush'));
    });
  }

  test('an annotation instead of an object that is too large', async () => {
    const data = { key: 'x'.repeat(200_000) };
    const [event] = await audited('Request', (server) =>
      server.ask('POST', configMaps, { body: { metadata: { name: 'a' }, data } }),
    );
    assert.equal(event.requestObject, undefined);
    assert.deepEqual(event.annotations, { 'audit.k8s.io/truncated': 'true' });
  });
});

test('logs the message of a failure, except for Secrets', async () => {
  const [missing, invalid, path] = await audited('Metadata', async (server) => {
    await server.ask('GET', `${configMaps}/absent`);
    await server.ask('POST', secrets, { body: { metadata: { name: 'a' }, data: { 'hush hush': '!' } } });
    await server.ask('GET', '/nowhere');
  });
  assert.deepEqual(missing.responseStatus, {
    metadata: {},
    status: 'Failure',
    message: 'configmaps "absent" not found',
    reason: 'NotFound',
    code: 404,
  });
  assert.equal(invalid.responseStatus.message, undefined);
  assert.ok(invalid.responseStatus.code >= 400);
  assert.deepEqual(path.responseStatus, { metadata: {}, status: 'Failure', message: '404 page not found', code: 404 });
  assert.equal(path.objectRef, undefined);
});

test('logs the start and the end of a watch', async () => {
  const events = await audited('Metadata', async (server) => (await server.watch(`${configMaps}?watch=1`)).close());
  assert.deepEqual(
    events.map(({ stage, verb }) => `${verb} ${stage}`),
    ['watch ResponseStarted', 'watch ResponseComplete'],
  );
  assert.equal(events[0].auditID, events[1].auditID);
});

test('logs both the impersonated and the authenticated user', async () => {
  const [event] = await audited('Metadata', (server) =>
    server.handle({
      method: 'GET',
      url: '/version',
      header: () => undefined,
      body: () => Promise.resolve(Buffer.alloc(0)),
      user: { name: 'admin', uid: '', groups: ['system:masters'] },
      impersonation: { user: 'alice', uid: '', groups: [], extra: new Map() },
      remoteAddress: '::ffff:192.0.2.1',
    }),
  );
  assert.equal(event.user.username, 'admin');
  assert.equal(event.impersonatedUser.username, 'alice');
  assert.deepEqual(event.sourceIPs, ['192.0.2.1']);
});

test('does not log health and metrics requests', async () => {
  const events = await audited('Metadata', async (server) => {
    for (const url of ['/healthz', '/livez/ping', '/readyz', '/metrics']) await server.ask('GET', url);
  });
  assert.deepEqual(events, []);
});

test('counts logged and dropped events', async () => {
  await audited('Metadata', async (server) => {
    await server.ask('GET', '/version');
    const { text } = await server.ask('GET', '/metrics');
    assert.match(text, /^apiserver_audit_event_total 1$/m);
    assert.match(text, /^apiserver_audit_error_total\{plugin="log"\} 0$/m);
  });
});
