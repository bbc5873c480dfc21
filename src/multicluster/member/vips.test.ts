import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { View } from '../merge/merged.ts';
import { managedBy, objectManagedByLabel } from '../project/labels.ts';
import { Vips } from './vips.ts';

describe('supercluster IPs', () => {
  const view: View = { type: 'ClusterSetIP', ports: [], families: ['IPv4'], clusters: [], labels: {}, annotations: {} };
  const importWith = (ip: string, ours = true) => ({
    metadata: {
      namespace: 'shop',
      name: 'web',
      creationTimestamp: '2026-01-01T00:00:00Z',
      ...(ours ? { labels: { [objectManagedByLabel]: managedBy } } : {}),
    },
    spec: { type: 'ClusterSetIP' as const, ports: [], ips: [ip] },
  });

  test('MCS-44 adopts the address of an import that is seen first, and ignores later edits', () => {
    const vips = new Vips(['241.0.0.0/24']);
    const first = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9') });
    assert.deepEqual(first, { state: 'reserved', ips: ['241.0.0.9'], families: ['IPv4'] });
    assert.deepEqual(
      vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.10') }),
      first,
    );
  });

  test('ignores imports of other controllers', () => {
    const vips = new Vips(['241.0.0.0/24']);
    const vip = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9', false) });
    assert.notDeepEqual(vip.state === 'reserved' && vip.ips, ['241.0.0.9']);
  });

  test('adopts the address that another replica has written', () => {
    const vips = new Vips(['241.0.0.0/24']);
    vips.addressesFor('shop/web', view, { slices: [] });
    const vip = vips.addressesFor('shop/web', view, { slices: [], serviceImport: importWith('241.0.0.9') });
    assert.deepEqual(vip, { state: 'reserved', ips: ['241.0.0.9'], families: ['IPv4'] });
  });

  test('MCS-94 allocates none for a headless service', () => {
    const vips = new Vips(['241.0.0.0/24']);
    assert.deepEqual(vips.addressesFor('shop/web', { ...view, type: 'Headless' }, { slices: [] }), {
      state: 'unneeded',
    });
  });

  test('MCS-45 returns the services that wait for a released address', () => {
    const vips = new Vips(['241.0.0.1/32']);
    vips.addressesFor('shop/web', view, { slices: [] });
    assert.equal(vips.addressesFor('shop/cart', view, { slices: [] }).state, 'exhausted');
    assert.deepEqual(vips.release('shop/web'), ['shop/cart']);
  });
});
