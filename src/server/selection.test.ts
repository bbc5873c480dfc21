import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { kindFor } from '../api/kinds/registry.ts';
import type { Kind } from '../api/kind.ts';
import { Item } from './cache/item.ts';
import { layoutOf, serialise } from './cache/layout.ts';
import { parseSelection } from './selection.ts';

function kindOf(name: string): Kind {
  const [plural = '', ...group] = name.split('.');
  const kind = kindFor(group.join('.'), 'v1', plural) ?? kindFor(group.join('.'), 'v1beta1', plural);
  if (kind === undefined) throw new Error(`no kind ${name}`);
  return kind;
}

function itemOf(kind: Kind, content: object): Item {
  const layout = layoutOf(kind.storage?.kind ?? kind);
  const object = { metadata: { name: 'web', namespace: 'shop' }, ...content };
  return new Item({ key: '/registry/x/shop/web', value: serialise(layout, object), revision: 7, created: 7 }, layout);
}

suite('supported field selectors', () => {
  const table: readonly [kind: string, selector: string, object: object, want: boolean][] = [
    ['services', 'metadata.name=web', {}, true],
    ['services', 'metadata.name=other', {}, false],
    ['services', 'metadata.name!=other,metadata.namespace=shop', {}, true],
    ['services', 'spec.type=ClusterIP', { spec: { type: 'ClusterIP' } }, true],
    ['services', 'spec.clusterIP=10.0.0.1', { spec: { clusterIP: '10.0.0.2' } }, false],
    ['pods', 'status.phase=Running,spec.nodeName=a', { spec: { nodeName: 'a' }, status: { phase: 'Running' } }, true],
    ['pods', 'spec.nodeName=', { spec: {}, status: {} }, true],
    ['nodes', 'spec.unschedulable=false', { spec: {}, status: {} }, true],
    ['namespaces', 'status.phase=Active', { spec: {}, status: { phase: 'Active' } }, true],
    ['secrets', 'type=Opaque', { type: 'Opaque' }, true],
    ['events', 'involvedObject.name=a,reason=Failed', { involvedObject: { name: 'a' }, reason: 'Failed' }, true],
    ['events.events.k8s.io', 'regarding.name=a', { involvedObject: { name: 'a' } }, true],
    ['endpoints', 'metadata.namespace=shop', {}, true],
    ['ingressclasses.networking.k8s.io', 'metadata.namespace=', { metadata: { name: 'a' } }, true],
  ];
  for (const [name, selector, object, want] of table) {
    test(`${name} ${selector}`, () => {
      const kind = kindOf(name);
      const { matches } = parseSelection(kind, new URLSearchParams({ fieldSelector: selector }));
      assert.equal(matches?.(itemOf(kind, object)), want);
    });
  }
});

suite('unsupported field selectors', () => {
  const metadataOnly = 'is not a known field selector: only "metadata.name", "metadata.namespace"';
  const table: readonly [kind: string, selector: string, message: string][] = [
    ['services', 'spec.ports=80', 'field label not supported: spec.ports'],
    ['services', 'constructor=a', 'field label not supported: constructor'],
    ['nodes', 'metadata.namespace=a', 'field label not supported: metadata.namespace'],
    ['namespaces', 'metadata.namespace=a', 'field label not supported: metadata.namespace'],
    ['configmaps', 'data=a', `"data" ${metadataOnly}`],
    ['leases.coordination.k8s.io', 'spec.holderIdentity=a', `"spec.holderIdentity" ${metadataOnly}`],
    ['serviceexports.multicluster.x-k8s.io', 'spec.a=b', 'field label not supported: spec.a'],
  ];
  for (const [name, selector, message] of table) {
    test(`${name} ${selector}`, () =>
      assert.throws(() => parseSelection(kindOf(name), new URLSearchParams({ fieldSelector: selector })), { message }));
  }
});

suite('the only name that a selector can match', () => {
  const table: readonly [selector: string, want: string | undefined][] = [
    ['', undefined],
    ['metadata.name=a', 'a'],
    ['metadata.namespace=x,metadata.name==a', 'a'],
    ['metadata.name!=a', undefined],
    ['metadata.name=', undefined],
  ];
  for (const [fieldSelector, want] of table) {
    test(`"${fieldSelector}"`, () =>
      assert.equal(parseSelection(kindOf('services'), new URLSearchParams({ fieldSelector })).name, want));
  }
});

test('labels and fields must both match', () => {
  const kind = kindOf('services');
  const query = new URLSearchParams({ labelSelector: 'app=web', fieldSelector: 'metadata.name=web' });
  const { matches } = parseSelection(kind, query);
  assert.equal(matches?.(itemOf(kind, { metadata: { name: 'web', labels: { app: 'web' } } })), true);
  assert.equal(matches?.(itemOf(kind, { metadata: { name: 'web', labels: { app: 'db' } } })), false);
  assert.equal(matches?.(itemOf(kind, { metadata: { name: 'db', labels: { app: 'web' } } })), false);
  assert.equal(parseSelection(kind, new URLSearchParams()).matches, undefined);
});
