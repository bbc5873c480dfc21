import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../testing/server.ts';
import type { HealthCheck } from './health.ts';
import { health } from './health.ts';

const checks: readonly HealthCheck[] = [
  { name: 'ping', readyOnly: false, problem: () => undefined },
  { name: 'etcd', readyOnly: false, problem: () => 'disk full' },
  { name: 'shutdown', readyOnly: true, problem: () => 'stopping' },
];
const well = checks.slice(0, 1);
const hooked = [...well, { name: 'poststarthook/rbac/bootstrap-roles', readyOnly: false, problem: () => undefined }];
const alarmed: readonly HealthCheck[] = [
  ...well,
  { name: 'quota', readyOnly: true, isInformational: true, problem: () => 'full' },
];

test('the results of all checks are metrics', () => {
  const reply = health('/metrics/slis', new URLSearchParams(), checks);
  assert.ok(reply !== undefined && 'body' in reply && typeof reply.body === 'string');
  assert.deepEqual(reply.body.split('\n').slice(2), [
    'kubernetes_healthcheck{name="ping",type="healthz"} 1',
    'kubernetes_healthcheck{name="etcd",type="healthz"} 0',
    'kubernetes_healthcheck{name="ping",type="livez"} 1',
    'kubernetes_healthcheck{name="etcd",type="livez"} 0',
    'kubernetes_healthcheck{name="ping",type="readyz"} 1',
    'kubernetes_healthcheck{name="etcd",type="readyz"} 0',
    'kubernetes_healthcheck{name="shutdown",type="readyz"} 0',
    '',
  ]);
});

suite('health', () => {
  const failed = '[+]ping ok\n[-]etcd failed: reason withheld\n';
  const table: readonly [url: string, checks: readonly HealthCheck[], status: number, text: string][] = [
    ['/healthz', well, 200, 'ok'],
    ['/livez/', well, 200, 'ok'],
    ['/readyz?verbose', well, 200, '[+]ping ok\nreadyz check passed\n'],
    ['/livez', checks, 500, `${failed}livez check failed\n`],
    ['/readyz', checks, 500, `${failed}[-]shutdown failed: reason withheld\nreadyz check failed\n`],
    ['/livez?exclude=etcd', checks, 200, 'ok'],
    ['/livez?exclude=etcd&verbose=1', checks, 200, '[+]ping ok\n[+]etcd excluded: ok\nlivez check passed\n'],
    ['/readyz?exclude=etcd&exclude=shutdown', checks, 200, 'ok'],
    ['/readyz/ping', checks, 200, 'ok'],
    ['/readyz/etcd', checks, 500, 'internal server error: etcd\n'],
    ['/readyz', alarmed, 200, 'ok'],
    ['/readyz?verbose', alarmed, 200, '[+]ping ok\n[-]quota failed: reason withheld\nreadyz check passed\n'],
    ['/readyz/quota', alarmed, 500, 'internal server error: quota\n'],
    ['/livez/shutdown', checks, 404, '404 page not found\n'],
    ['/healthz/none', checks, 404, '404 page not found\n'],
    ['/livez/a/b', checks, 404, '404 page not found\n'],
    ['/livez/poststarthook/rbac/bootstrap-roles', hooked, 200, 'ok'],
  ];
  for (const [url, given, status, text] of table) {
    test(url, () => {
      const [path = '', query = ''] = url.split('?');
      const reply = health(path, new URLSearchParams(query), given);
      assert.ok(reply !== undefined && 'body' in reply && typeof reply.body === 'string');
      assert.deepEqual([reply.status, reply.body], [status, text]);
      assert.match(String(reply.headers['Content-Type']), /^text\/plain/);
    });
  }

  test('returns undefined for other paths', () => {
    for (const path of ['/', '/healthy', '/healthy/a']) {
      assert.equal(health(path, new URLSearchParams(), checks), undefined, path);
    }
  });
});

test('a server that shuts down is alive and not ready', async () => {
  const server = await testServer();
  assert.equal((await server.ask('GET', '/readyz')).text, 'ok');
  await server[Symbol.asyncDispose]();
  assert.equal((await server.ask('GET', '/livez')).status, 200);
  const { status, text } = await server.ask('GET', '/readyz');
  assert.equal(status, 500);
  assert.match(text, /\[-\]shutdown failed/);
});
