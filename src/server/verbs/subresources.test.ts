import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { testServer } from '../testing/server.ts';

const services = '/api/v1/namespaces/default/services';
const merge = 'application/merge-patch+json';
const ingress = [{ ip: '203.0.113.1', ipMode: 'VIP' }];
const balancer = { metadata: { name: 'a' }, spec: { type: 'LoadBalancer', ports: [{ port: 80 }] } };

suite('status', () => {
  test('is dropped on create, kept on update, and written by the subresource', async () => {
    await using server = await testServer();
    const status = { loadBalancer: { ingress } };
    const created = await server.ask('POST', services, { body: { ...balancer, status } });
    assert.deepEqual(created.body.status, { loadBalancer: {} });
    const written = await server.ask('PUT', `${services}/a/status`, {
      body: { ...balancer, status, spec: { ...balancer.spec, selector: { app: 'other' } } },
    });
    assert.deepEqual(written.body.status, status, written.text);
    assert.equal(written.body.spec.selector, undefined, 'the spec is not its business');
    const updated = await server.ask('PUT', `${services}/a`, {
      body: { ...balancer, spec: { ...balancer.spec, selector: { app: 'web' } }, status: { loadBalancer: {} } },
    });
    assert.deepEqual(updated.body.status, status);
    assert.deepEqual(updated.body.spec.selector, { app: 'web' });
    assert.deepEqual((await server.ask('GET', `${services}/a/status`)).body, updated.body);
  });

  test('can change labels of built-in kinds, but not of custom ones', async () => {
    await using server = await testServer();
    await server.ask('POST', services, { body: balancer });
    const labels = { metadata: { labels: { k: 'v' } } };
    const service = await server.ask('PATCH', `${services}/a/status`, { type: merge, body: labels });
    assert.deepEqual(service.body.metadata.labels, { k: 'v' });
    const exports = '/apis/multicluster.x-k8s.io/v1beta1/namespaces/default/serviceexports';
    await server.ask('POST', exports, {
      body: { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceExport', metadata: { name: 'a' } },
    });
    const custom = await server.ask('PATCH', `${exports}/a/status`, { type: merge, body: labels });
    assert.equal(custom.status, 200, custom.text);
    assert.equal(custom.body.metadata.labels, undefined);
  });

  test('has its own managed fields entry', async () => {
    await using server = await testServer();
    await server.ask('POST', `${services}?fieldManager=author`, { body: balancer });
    await server.ask('PATCH', `${services}/a/status?fieldManager=cloud`, {
      type: merge,
      body: { status: { loadBalancer: { ingress } } },
    });
    const { body } = await server.ask('GET', `${services}/a`);
    const owners = body.metadata.managedFields.map(
      ({ manager, subresource = '', fieldsV1 }: { manager: string; subresource?: string; fieldsV1: object }) =>
        `${manager} ${subresource} ${Object.keys(fieldsV1).join()}`,
    );
    assert.deepEqual(owners.toSorted(), ['author  f:spec', 'cloud status f:status']);
  });

  test('does not increment the generation', async () => {
    await using server = await testServer();
    const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
    const backend = { service: { name: 'web', port: { number: 80 } } };
    await server.ask('POST', ingresses, { body: { metadata: { name: 'a' }, spec: { defaultBackend: backend } } });
    const { body } = await server.ask('PATCH', `${ingresses}/a/status`, {
      type: merge,
      body: { status: { loadBalancer: { ingress: [{ ip: '203.0.113.1' }] } } },
    });
    assert.equal(body.status.loadBalancer.ingress.length, 1);
    assert.equal(body.metadata.generation, 1);
  });
});

suite('finalize', () => {
  test('changes the finalizers of a namespace, which an update does not', async () => {
    await using server = await testServer();
    await server.ask('POST', '/api/v1/namespaces', { body: { metadata: { name: 'a' } } });
    const finalizers = ['kubernetes', 'example.org/mine'];
    const main = await server.ask('PUT', '/api/v1/namespaces/a', {
      body: { metadata: { name: 'a' }, spec: { finalizers } },
    });
    assert.deepEqual(main.body.spec.finalizers, ['kubernetes']);
    const finalize = await server.ask('PUT', '/api/v1/namespaces/a/finalize', {
      body: { metadata: { name: 'a' }, spec: { finalizers }, status: { phase: 'Terminating' } },
    });
    assert.deepEqual(finalize.body.spec.finalizers, finalizers, finalize.text);
    assert.equal(finalize.body.status.phase, 'Active');
  });

  test('rejects another name and invalid finalizers', async () => {
    await using server = await testServer();
    const put = (body: object) => server.ask('PUT', '/api/v1/namespaces/default/finalize', { body });
    assert.equal((await put({ metadata: { name: 'b' } })).status, 400);
    assert.equal((await put({ metadata: { name: 'default' }, spec: { finalizers: ['bare'] } })).status, 422);
  });
});
