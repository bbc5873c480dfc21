import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { TestServer } from './testing/server.ts';
import { testServer } from './testing/server.ts';

const services = '/api/v1/namespaces/default/services';

const scrape = async (server: TestServer): Promise<readonly string[]> =>
  (await server.ask('GET', '/metrics')).text.split('\n');

/** The value of the only sample with this name prefix and these labels. */
function sample(lines: readonly string[], name: string, ...labels: readonly string[]): number | undefined {
  const found = lines.filter(
    (line) =>
      (line.startsWith(`${name}{`) || line.startsWith(`${name} `)) && labels.every((text) => line.includes(text)),
  );
  assert.ok(found.length <= 1, `${name} is not one: ${found.join('; ')}`);
  return found[0] === undefined ? undefined : Number(found[0].split(' ').at(-1));
}

test('NAME-9 requests are counted by code, resource and verb', async () => {
  await using server = await testServer();
  await server.ask('POST', services, { body: { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } } });
  await server.ask('POST', services, { body: { metadata: { name: 'web' }, spec: { ports: [{ port: 80 }] } } });
  await server.ask('GET', services);
  await server.ask('PATCH', `${services}/web?fieldManager=me`, {
    type: 'application/apply-patch+yaml',
    body: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web' } },
  });
  const lines = await scrape(server);
  const table: readonly [labels: readonly string[], want: number][] = [
    [['verb="POST"', 'resource="services"', 'scope="resource"', 'version="v1"', 'code="201"'], 1],
    [['verb="POST"', 'resource="services"', 'code="409"'], 1],
    [['verb="LIST"', 'resource="services"', 'scope="namespace"', 'code="200"'], 1],
    [['verb="APPLY"', 'resource="services"', 'component="apiserver"', 'code="200"'], 1],
  ];
  for (const [labels, want] of table)
    assert.equal(sample(lines, 'apiserver_request_total', ...labels), want, labels.join());
  assert.equal(sample(lines, 'apiserver_request_duration_seconds_count', 'verb="POST"', 'resource="services"'), 2);
});

test('does not record unknown names as labels', async () => {
  await using server = await testServer();
  await server.ask('GET', '/apis/made.up/v1/things');
  await server.ask('GET', '/api/v1/namespaces/default/things');
  await server.ask('GET', `${services}/kubernetes/made-up`);
  const lines = await scrape(server);
  assert.ok(!lines.some((line) => /made|things/.test(line)));
});

test('counts open watches', async () => {
  await using server = await testServer();
  const open = async (): Promise<number | undefined> =>
    sample(await scrape(server), 'apiserver_longrunning_requests', 'resource="services"');
  const watch = await server.watch(`${services}?watch=1`);
  assert.equal(await open(), 1);
  watch.close();
  assert.equal(await open(), 0);
  const lines = await scrape(server);
  assert.equal(sample(lines, 'apiserver_current_inflight_requests', 'mutating'), 0);
  assert.equal(sample(lines, 'apiserver_current_inflight_requests', 'readOnly'), 1, 'only the scrape itself');
});

test('reports the store, the gates and the ranges', async () => {
  await using server = await testServer();
  const lines = await scrape(server);
  assert.equal(sample(lines, 'apiserver_storage_objects', 'resource="namespaces"'), 4);
  assert.equal(sample(lines, 'apiserver_storage_objects', 'resource="endpointslices.discovery.k8s.io"'), 1);
  assert.equal(sample(lines, 'kube_apiserver_clusterip_allocator_allocated_ips', 'cidr="10.0.0.0/24"'), 1);
  assert.equal(sample(lines, 'kube_apiserver_nodeport_allocator_available_ports'), 2768);
  for (const name of ['kubernetes_feature_enabled{', 'process_cpu_seconds_total', 'process_resident_memory_bytes']) {
    assert.ok(
      lines.some((line) => line.startsWith(name)),
      name,
    );
  }
});
