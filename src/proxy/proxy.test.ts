import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { testServer } from '../server/testing/server.ts';
import { until } from '../server/testing/until.ts';
import { startProxy } from './proxy.ts';
import { clientOf, core, discovery, post, service, slice, startAll, web } from './testing/running.ts';

test('what is there is made at once and as a whole, then each change', async () => {
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

test('MCS-107 imports are routed beside Services, from slices of their own', async () => {
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

test('a failure is told, and everything is made again until it holds', async () => {
  await using running = await startAll();
  const { server, backend, proxy } = running;
  await proxy.ready;
  backend.failures = 1;
  await post(server, `${core}/services`, service('web', '10.0.0.10'));
  await until('the failure is told', () => proxy.problems().length > 0);
  assert.match(proxy.problems()[0] ?? '', /routes could not be made: the backend is not well/);
  await until('it holds', () => backend.lines.includes('10.0.0.10 TCP 80 → reject'));
  await until('all is well', () => proxy.problems().length === 0);
  assert.equal(backend.calls.filter((call) => call === 'replace').length, 2);
});

test('labels and addresses of the node change its routes', async () => {
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

test('a node that is about to go says so to load balancers, and goes on with its work', async () => {
  await using running = await startAll({}, (server) => post(server, '/api/v1/nodes', { metadata: { name: 'n1' } }));
  const { server, backend, proxy } = running;
  const patch = (body: object): Promise<unknown> =>
    server.ask('PATCH', '/api/v1/nodes/n1', { body, type: 'application/merge-patch+json' });
  const says = (text: string): Promise<unknown> => until(text, () => proxy.problems().join() === text);
  await proxy.ready;
  assert.deepEqual(proxy.problems(), []);
  const taint = { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' };
  await patch({ spec: { taints: [taint] } });
  await says('Node n1 is about to be removed: it has the taint ToBeDeletedByClusterAutoscaler');
  await post(server, `${core}/services`, service('web', '10.0.0.10'));
  await until('routes are made', () => backend.lines.includes('10.0.0.10 TCP 80 → reject'));
  await patch({ spec: { taints: null }, metadata: { finalizers: ['example.org/hold'] } });
  await says('');
  await server.ask('DELETE', '/api/v1/nodes/n1');
  await says('Node n1 is being deleted');
  await patch({ metadata: { finalizers: null } });
  await says('Node n1 is gone');
  await post(server, '/api/v1/nodes', { metadata: { name: 'n1' } });
  await says('');
});

test('a backend that cannot work makes the start fail, with its reason', async () => {
  await using server = await testServer();
  await using proxy = startProxy(
    { client: clientOf(server), log: pino({ level: 'silent' }), metrics: new Registry() },
    { nodeName: 'n1', mode: 'nftables' },
    { openBackend: () => Promise.reject(new Error('nftables may not be changed')) },
  );
  await assert.rejects(proxy.ready, /nftables may not be changed/);
  assert.ok(proxy.problems().includes('nftables may not be changed'));
});

test('metrics are those that the README lists', async () => {
  await using running = await startAll();
  await running.proxy.ready;
  const text = await running.metrics.metrics();
  const made = Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name = '']) => name);
  const page = readFileSync(new URL('README.md', import.meta.url), 'utf8');
  const listed = Array.from(page.matchAll(/`((?:kubeproxy|fairlead_proxy)_\w+)`/g), ([, name = '']) => name);
  assert.deepEqual(made.toSorted(), listed.toSorted());
});

test('everything is made again after a while, however much else happens', async () => {
  await using running = await startAll({ fullSyncPeriodMs: 50 });
  const { backend, proxy } = running;
  await proxy.ready;
  await until('it was made three times', () => backend.calls.filter((call) => call === 'replace').length >= 3);
});
