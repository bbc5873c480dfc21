import assert from 'node:assert/strict';
import { test } from 'node:test';

import { kinds } from '../../api/kinds/registry.ts';
import { Keys } from './keys.ts';

const keys = new Keys('/registry');

const cases: readonly (readonly [ours: string, theirs: string])[] = [
  ['/registry/services/default/web', '/registry/services/specs/default/web'],
  ['/registry/endpoints/default/web', '/registry/services/endpoints/default/web'],
  ['/registry/nodes/n', '/registry/minions/n'],
  ['/registry/apps/deployments/default/d', '/registry/deployments/default/d'],
  ['/registry/configmaps/default/services', '/registry/configmaps/default/services'],
  [
    '/registry/multicluster.x-k8s.io/serviceexports/default/a',
    '/registry/multicluster.x-k8s.io/serviceexports/default/a',
  ],
];
for (const [ours, theirs] of cases) {
  test(`${ours} is ${theirs} in etcd`, () => {
    assert.equal(keys.toEtcd(ours), theirs);
    assert.equal(keys.fromEtcd(theirs), ours);
  });
}

test('built-in kinds are where kube-apiserver has them, which is mostly without their group', () => {
  const stored = kinds.filter(({ stored: isStored, storage, custom }) => isStored && storage === undefined && !custom);
  for (const { group, plural } of stored) {
    const key = `/registry/${group === '' ? '' : `${group}/`}${plural}/name`;
    const theirs = keys.toEtcd(key);
    // Those of the extensions server and of the aggregator are stored with their group.
    const hasGroup = group === 'apiextensions.k8s.io' || group === 'apiregistration.k8s.io';
    assert.ok(group === '' || theirs.startsWith(`/registry/${group}/`) === hasGroup, theirs);
    assert.equal(keys.fromEtcd(theirs), key);
  }
});
