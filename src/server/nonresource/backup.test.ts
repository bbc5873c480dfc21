import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';

import { kinds } from '../../api/kinds/registry.ts';
import type { Entry } from '../../store/store.ts';
import { BackupDecoder } from '../../store/backup/format.ts';
import { Encryption } from '../encryption/encryption.ts';
import { aesgcm, configurationOf, keyOf } from '../encryption/testing/configuration.ts';
import type { TestServer } from '../testing/server.ts';
import { testServer } from '../testing/server.ts';

const secrets = '/api/v1/namespaces/default/secrets';
const services = '/api/v1/namespaces/default/services';

async function backupOf(server: TestServer): Promise<ReadonlyMap<string, Entry>> {
  const { status, text, headers } = await server.ask('GET', '/store/backup');
  assert.deepEqual(
    [status, headers['Content-Type'], headers['Cache-Control']],
    [200, 'application/x-ndjson', 'no-store'],
  );
  const decoder = new BackupDecoder('reply');
  const entries = text
    .split('\n')
    .slice(0, -1)
    .map((line) => decoder.take(line));
  decoder.end();
  assert.equal(decoder.header?.cluster, 'test');
  return new Map(entries.flatMap((entry) => (entry === undefined ? [] : [[entry.key, entry]])));
}

suite('GET /store/backup', () => {
  test('contains objects and claims of one revision', async () => {
    await using server = await testServer();
    const { body } = await server.ask('POST', services, {
      body: { metadata: { name: 'web' }, spec: { type: 'NodePort', ports: [{ port: 80 }] } },
    });
    const entries = await backupOf(server);
    const [address, port] = [body.spec.clusterIP, body.spec.ports[0].nodePort];
    assert.ok(entries.has(`/registry/networking.k8s.io/ipaddresses/${address}`));
    assert.ok(entries.has(`/registry/nodeports/${port}`));
    const stored = entries.get('/registry/services/default/web');
    assert.equal(String(stored?.revision), body.metadata.resourceVersion);
  });

  test('has encrypted values as they are stored', async () => {
    const encryption = await Encryption.create(configurationOf([aesgcm(keyOf('key1', 1))]), kinds);
    await using server = await testServer({ encryption });
    await server.ask('POST', secrets, { body: { metadata: { name: 'login' }, stringData: { password: 'hunter2' } } });
    const value = (await backupOf(server)).get('/registry/secrets/default/login')?.value ?? '';
    assert.match(value, /^k8s:enc:aesgcm:v1:/);
  });

  test('is forbidden without the rights of cluster-admin', async () => {
    await using server = await testServer();
    for (const name of ['admin', 'edit', 'view', 'system:monitoring', 'system:discovery']) {
      await server.ask('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        body: {
          metadata: { name: `test-${name}` },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
        },
      });
    }
    const { status, body } = await server.as({ name: 'alice' }).ask('GET', '/store/backup');
    assert.equal(status, 403);
    assert.equal(body.message, 'forbidden: User "alice" cannot get path "/store/backup"');
    assert.equal((await server.as({ name: 'system:anonymous' }).ask('GET', '/store/backup')).status, 403);
    assert.equal((await server.ask('POST', '/store/backup')).status, 405);
  });

  test('is in the audit log', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-backup-'));
    const path = join(directory, 'audit.log');
    {
      await using server = await testServer({
        audit: { path, level: 'Metadata', maxBytes: Infinity, maxBackups: 0, maxAgeDays: 0 },
      });
      await server.ask('GET', '/store/backup');
    }
    const events = (await readFile(path, 'utf8')).split('\n').filter((line) => line.includes('/store/backup'));
    await rm(directory, { recursive: true });
    assert.equal(events.length, 1);
    const event: unknown = JSON.parse(events[0] ?? '');
    assert.partialDeepStrictEqual(event, { verb: 'get', requestURI: '/store/backup', user: { username: 'admin' } });
  });
});
