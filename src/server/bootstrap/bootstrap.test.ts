import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import { testServer } from '../testing/server.ts';
import { bootstrap } from './bootstrap.ts';

const endpoints = '/api/v1/namespaces/default/endpoints/kubernetes';
const slice = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

suite('a new cluster', () => {
  test('has its namespaces, the Service at the first address, and the endpoints of the server', async () => {
    await using server = await testServer({ serviceCidrs: ['10.96.0.0/16'] });
    const { body } = await server.ask('GET', '/api/v1/namespaces');
    assert.deepEqual(
      body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name),
      ['default', 'kube-node-lease', 'kube-public', 'kube-system'],
    );
    const { body: service } = await server.ask('GET', '/api/v1/namespaces/default/services/kubernetes');
    assert.equal(service.spec.clusterIP, '10.96.0.1');
    assert.deepEqual(service.spec.ports, [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }]);
    assert.equal((await server.ask('GET', endpoints)).body.subsets[0].addresses[0].ip, '127.0.0.1');
    assert.deepEqual((await server.ask('GET', slice)).body.endpoints[0].addresses, ['127.0.0.1']);
    const { body: cidr } = await server.ask('GET', '/apis/networking.k8s.io/v1/servicecidrs/kubernetes');
    assert.deepEqual(cidr.spec.cidrs, ['10.96.0.0/16']);
  });

  test('with two families has both', async () => {
    await using server = await testServer({ serviceCidrs: ['fd00:1::/112', '10.96.0.0/16'] });
    const { body } = await server.ask('GET', '/api/v1/namespaces/default/services/kubernetes');
    assert.equal(body.spec.clusterIP, 'fd00:1::1');
  });
});

suite('a restart', () => {
  test('writes nothing when nothing has changed', async () => {
    await using store = openMemoryStore();
    {
      await using _first = await testServer({ store });
    }
    const { revision } = store;
    await using _second = await testServer({ store });
    assert.equal(store.revision, revision);
  });

  test('at another address updates the endpoints and keeps foreign metadata', async () => {
    await using server = await testServer();
    await server.ask('PATCH', endpoints, {
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { mine: 'yes' } } },
    });
    const options = { serviceCidrs: ['10.0.0.0/24'], firstServiceIp: '10.0.0.1', address: '192.0.2.7', port: 7443 };
    await bootstrap(server.context, options);
    const { body } = await server.ask('GET', endpoints);
    assert.deepEqual(body.subsets, [
      { addresses: [{ ip: '192.0.2.7' }], ports: [{ name: 'https', port: 7443, protocol: 'TCP' }] },
    ]);
    assert.equal(body.metadata.labels.mine, 'yes');
    assert.deepEqual((await server.ask('GET', slice)).body.endpoints[0].addresses, ['192.0.2.7']);
  });

  test('does not undo changes of users to the Service of the server', async () => {
    await using store = openMemoryStore();
    {
      await using server = await testServer({ store });
      await server.ask('PATCH', '/api/v1/namespaces/default/services/kubernetes', {
        type: 'application/merge-patch+json',
        body: { spec: { sessionAffinity: 'ClientIP' } },
      });
    }
    await using server = await testServer({ store });
    const { body } = await server.ask('GET', '/api/v1/namespaces/default/services/kubernetes');
    assert.equal(body.spec.sessionAffinity, 'ClientIP');
  });
});
