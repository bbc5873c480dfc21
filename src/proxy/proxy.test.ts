import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { startProxy } from './proxy.ts';
import { clientOf, core, discovery, post, service, slice, startAll, web } from './testing/running.ts';

test('applies existing objects with one full sync, then each change', async () => {
  await using running = await startAll({}, async (server) => {
    await post(server, `${core}/services`, service('web', '10.0.0.10'));
    await post(server, discovery, slice('web-1', ['10.1.0.1'], web));
  });
  const { server, backend, proxy } = running;
  await proxy.ready;
  assert.equal(backend.calls[0], 'replace');
  assert.ok(backend.lines.includes('10.0.0.10 TCP 80 → 10.1.0.1:8080'), backend.lines.join('\n'));
  await post(server, discovery, slice('web-2', ['10.1.0.2'], web));
  await until('the endpoint is used', () => backend.lines.includes('10.0.0.10 TCP 80 → 10.1.0.1:8080 10.1.0.2:8080'));
  assert.ok(backend.calls.includes('apply -1 +1'));
  await server.ask('DELETE', `${core}/services/web`);
  await until('the route is gone', () => !backend.lines.some((line) => line.startsWith('10.0.0.10 ')));
  assert.deepEqual(proxy.problems(), []);
});

test('MCS-107 routes imports beside Services, from their own slices', async () => {
  await using running = await startAll();
  const { server, backend, proxy } = running;
  await proxy.ready;
  await post(server, '/apis/multicluster.k8s.io/v1alpha1/namespaces/default/importedservices', {
    apiVersion: 'multicluster.k8s.io/v1alpha1',
    kind: 'ImportedService',
    metadata: { name: 'web' },
    spec: { ip: '10.128.0.5', ipFamily: 'IPv4', ports: [{ port: 80 }], clusters: [{ cluster: 'east' }] },
  });
  const labels = {
    'multicluster.kubernetes.io/imported-service-name': 'web',
    'multicluster.kubernetes.io/service-name': 'web',
    'multicluster.kubernetes.io/source-cluster': 'east',
  };
  await post(server, discovery, slice('imported', ['10.2.0.1'], labels));
  await until('the import is routed', () => backend.lines.includes('10.128.0.5 TCP 80 → 10.2.0.1:8080'));
});

test('reports a failed sync and retries full syncs', async () => {
  await using running = await startAll();
  const { server, backend, proxy } = running;
  await proxy.ready;
  backend.failures = 1;
  await post(server, `${core}/services`, service('web', '10.0.0.10'));
  await until('the failure is reported', () => proxy.problems().length > 0);
  assert.match(proxy.problems()[0] ?? '', /applying routes failed: the backend is not well/);
  await until('it is applied', () => backend.lines.includes('10.0.0.10 TCP 80 → reject'));
  await until('all is well', () => proxy.problems().length === 0);
  assert.equal(backend.calls.filter((call) => call === 'replace').length, 2);
});

test('recomputes routes after changes of the node', async () => {
  await using running = await startAll();
  const { server, backend, proxy } = running;
  await proxy.ready;
  await post(
    server,
    `${core}/services`,
    service('web', '10.0.0.10', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] }),
  );
  const hinted = {
    ...slice('web-1', [], web),
    endpoints: [
      { addresses: ['10.1.0.1'], conditions: { ready: true }, hints: { forZones: [{ name: 'a' }] } },
      { addresses: ['10.1.0.2'], conditions: { ready: true }, hints: { forZones: [{ name: 'b' }] } },
    ],
  };
  await post(server, discovery, hinted);
  await until('both are used', () => backend.lines.includes('10.0.0.10 TCP 80 → 10.1.0.1:8080 10.1.0.2:8080'));
  await post(server, '/api/v1/nodes', {
    metadata: { name: 'n1', labels: { 'topology.kubernetes.io/zone': 'b' } },
    spec: { podCIDR: '10.1.0.0/24', podCIDRs: ['10.1.0.0/24'] },
  });
  await until('the zone counts', () => backend.lines.includes('10.0.0.10 TCP 80 → 10.1.0.2:8080'));
  await until('Pods are known', () => backend.state?.network.podRanges.includes('10.1.0.0/24') ?? false);
  const patch = { status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] } };
  const answer = await server.ask('PATCH', '/api/v1/nodes/n1/status', {
    body: patch,
    type: 'application/merge-patch+json',
  });
  assert.equal(answer.status, 200, answer.text);
  await until('the node port is served', () => backend.lines.includes('192.0.2.1 TCP 30080 → 10.1.0.2:8080'));
});

test('is not ready on a node that is about to be removed, and continues to serve', async () => {
  await using running = await startAll({}, (server) => post(server, '/api/v1/nodes', { metadata: { name: 'n1' } }));
  const { server, backend, proxy } = running;
  const patch = (body: object): Promise<unknown> =>
    server.ask('PATCH', '/api/v1/nodes/n1', { body, type: 'application/merge-patch+json' });
  const reports = (text: string): Promise<unknown> => until(text, () => proxy.problems().join() === text);
  await proxy.ready;
  assert.deepEqual(proxy.problems(), []);
  const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' };
  await patch({ spec: { taints: [taint] } });
  await reports('Node n1 is about to be removed: it has the taint ToBeDeletedByClusterAutoscaler');
  await post(server, `${core}/services`, service('web', '10.0.0.10'));
  await until('routes are made', () => backend.lines.includes('10.0.0.10 TCP 80 → reject'));
  await patch({ spec: { taints: null }, metadata: { finalizers: ['example.org/hold'] } });
  await reports('');
  await server.ask('DELETE', '/api/v1/nodes/n1');
  await reports('Node n1 is being deleted');
  await patch({ metadata: { finalizers: null } });
  await reports('Node n1 was deleted');
  await post(server, '/api/v1/nodes', { metadata: { name: 'n1' } });
  await reports('');
});

test('fails to start with the error of the backend', async () => {
  await using server = await testServer();
  await using proxy = startProxy(
    { client: clientOf(server), log: pino({ level: 'silent' }), metrics: new Registry() },
    { nodeName: 'n1', mode: 'nftables' },
    { openBackend: () => Promise.reject(new Error('nftables may not be changed')) },
  );
  await assert.rejects(proxy.ready, /nftables may not be changed/);
  assert.ok(proxy.problems().includes('nftables may not be changed'));
});

test('registers the metrics that the README lists', async () => {
  await using running = await startAll();
  await running.proxy.ready;
  const text = await running.metrics.metrics();
  const made = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name);
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const listed = Array.from(page.matchAll(/`((?:kubeproxy|fairlead_proxy)_\w+)`/g), ([, name = '']) => name);
  assert.deepEqual(made.toSorted(), listed.toSorted());
});

test('runs full syncs periodically, also under frequent changes', async () => {
  await using running = await startAll({ fullSyncPeriodMs: 50 });
  const { backend, proxy } = running;
  await proxy.ready;
  await until('three full syncs', () => backend.calls.filter((call) => call === 'replace').length >= 3);
});
