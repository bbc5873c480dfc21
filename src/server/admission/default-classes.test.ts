import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { openMemoryStore } from '../../store/memory/memory.ts';
import { testServer } from '../testing/server.ts';
import type { TestServer } from '../testing/server.ts';
import { pluginNames } from './plugins.ts';

const ingresses = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
const classes = '/apis/networking.k8s.io/v1/ingressclasses';
const defaultAnnotation = 'ingressclass.kubernetes.io/is-default-class';

async function createClass(server: TestServer, name: string, isDefault = 'true'): Promise<void> {
  const { status, text } = await server.ask('POST', classes, {
    body: {
      metadata: { name, annotations: { [defaultAnnotation]: isDefault } },
      spec: { controller: 'example.org/a' },
    },
  });
  assert.equal(status, 201, text);
}

interface Content {
  readonly spec?: object;
  readonly annotations?: object;
}

async function createIngress(server: TestServer, { spec = {}, annotations = {} }: Content = {}): Promise<unknown> {
  const { status, body, text } = await server.ask('POST', `${ingresses}?dryRun=All&fieldManager=me`, {
    body: {
      metadata: { name: 'web', annotations },
      spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } }, ...spec },
    },
  });
  assert.equal(status, 201, text);
  return body.spec.ingressClassName;
}

suite('DefaultIngressClass', () => {
  test('sets the default class in a new Ingress without a class', async () => {
    await using server = await testServer();
    await createClass(server, 'other', 'false');
    assert.equal(await createIngress(server), undefined);
    await createClass(server, 'usual');
    assert.equal(await createIngress(server), 'usual');
  });

  test('keeps the class that the field or the deprecated annotation names', async () => {
    await using server = await testServer();
    await createClass(server, 'usual');
    assert.equal(await createIngress(server, { spec: { ingressClassName: 'mine' } }), 'mine');
    assert.equal(await createIngress(server, { annotations: { 'kubernetes.io/ingress.class': 'mine' } }), undefined);
  });

  test('does not change an existing Ingress', async () => {
    await using server = await testServer();
    const { status } = await server.ask('POST', ingresses, {
      body: { metadata: { name: 'old' }, spec: { defaultBackend: { service: { name: 'web', port: { number: 80 } } } } },
    });
    assert.equal(status, 201);
    await createClass(server, 'usual');
    const { body } = await server.ask('PATCH', `${ingresses}/old`, {
      type: 'application/merge-patch+json',
      body: { metadata: { labels: { a: 'b' } } },
    });
    assert.equal(body.spec.ingressClassName, undefined);
  });

  test('chooses the newest of several default classes, and of equally old ones the first by name', async () => {
    await using store = openMemoryStore();
    for (const [name, creationTimestamp] of [
      ['a-old', '2026-01-01T00:00:00Z'],
      ['c-new', '2026-01-02T00:00:00Z'],
      ['b-new', '2026-01-02T00:00:00Z'],
    ]) {
      const value = JSON.stringify({
        kind: 'IngressClass',
        apiVersion: 'networking.k8s.io/v1',
        metadata: { name, uid: name, creationTimestamp, annotations: { [defaultAnnotation]: 'true' } },
        spec: { controller: 'example.org/a' },
      });
      await store.commit([{ key: `/registry/networking.k8s.io/ingressclasses/${name}`, value, expect: 0 }]);
    }
    await using server = await testServer({ store });
    assert.equal(await createIngress(server), 'b-new');
  });

  test('does nothing when it is disabled', async () => {
    const admissionPlugins = new Set(pluginNames.filter((name) => name !== 'DefaultIngressClass'));
    await using server = await testServer({ admissionPlugins });
    await createClass(server, 'usual');
    assert.equal(await createIngress(server), undefined);
  });
});
