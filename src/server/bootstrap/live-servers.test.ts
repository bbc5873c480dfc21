import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import { testServer } from '../testing/server.ts';
import { bootstrap } from './bootstrap.ts';
import { LiveServers } from './live-servers.ts';

const [a, b, c] = [
  { address: '192.0.2.1', port: 6443 },
  { address: '192.0.2.2', port: 6443 },
  { address: '192.0.2.1', port: 7443 },
];

suite('the servers of a shared store', () => {
  test('are those that have announced themselves and not withdrawn', async () => {
    await using memory = openMemoryStore();
    const store = Object.create(memory, {
      isShared: { value: true },
      commit: { value: memory.commit.bind(memory) },
      range: { value: memory.range.bind(memory) },
    }) as typeof memory;
    const [first, second] = [new LiveServers(store, a), new LiveServers(store, b)];
    assert.deepEqual(await first.announce(), [a]);
    assert.deepEqual(await second.announce(), [a, b]);
    assert.deepEqual(await first.announce(), [a, b]);
    await store.commit([{ key: '/registry/masterleases/x', value: 'of another program' }]);
    assert.deepEqual(await second.withdraw(), [a]);
    // A kube-apiserver names no port.
    const lease =
      '{"kind":"Endpoints","apiVersion":"v1","metadata":{},"subsets":[{"addresses":[{"ip":"192.0.2.9"}]}]}\n';
    await store.commit([{ key: '/registry/masterleases/192.0.2.9', value: lease }]);
    assert.deepEqual(await first.announce(), [a, { address: '192.0.2.9', port: 6443 }]);
  });

  test('are the endpoints of the Service `kubernetes`, with a slice for each port', async () => {
    await using server = await testServer();
    const options = { serviceCidrs: ['10.0.0.0/24'], firstServiceIp: '10.0.0.1', ...a };
    await bootstrap(server.context, { ...options, servers: [c, b, a] });
    const { body } = await server.ask('GET', '/api/v1/namespaces/default/endpoints/kubernetes');
    assert.deepEqual(
      body.subsets.map((subset: { addresses: { ip: string }[]; ports: { port: number }[] }) => [
        subset.addresses.map(({ ip }) => ip),
        subset.ports.map(({ port }) => port),
      ]),
      [
        [['192.0.2.1', '192.0.2.2'], [6443]],
        [['192.0.2.1'], [7443]],
      ],
    );
    const slices = async (): Promise<readonly string[]> => {
      const list = await server.ask('GET', '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices');
      return list.body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
    };
    assert.deepEqual(await slices(), ['kubernetes', 'kubernetes-1']);
    await bootstrap(server.context, { ...options, servers: [a, b] });
    assert.deepEqual(await slices(), ['kubernetes']);
  });
});
