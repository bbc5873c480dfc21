import assert from 'node:assert/strict';
import { test } from 'node:test';

import { replicaSetKind } from '../../api/kinds/apps/replicaset/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { controllerIndex, planClaim, referenceTo } from './owner.ts';

const owner: ApiObject = { metadata: { namespace: 'shop', name: 'web', uid: 'u1' } };
const ending: ApiObject = { metadata: { ...owner.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
const own = referenceTo(replicaSetKind, owner);

const object = (name: string, app: string, more: Partial<ApiObject['metadata']> = {}): ApiObject => ({
  metadata: { namespace: 'shop', name, labels: { app }, ...more },
});
const objects = [
  object('owned', 'web', { ownerReferences: [own] }),
  object('relabelled', 'other', { ownerReferences: [own] }),
  object('foreign', 'web', { ownerReferences: [{ ...own, uid: 'u2' }] }),
  object('orphan', 'web'),
  object('ending orphan', 'web', { deletionTimestamp: '2026-01-01T00:00:00Z' }),
  object('stranger', 'other'),
  object('owned without a controller', 'web', { ownerReferences: [{ ...own, uid: 'u3', controller: false }] }),
];

const names = (list: readonly ApiObject[]): readonly string[] => list.map(({ metadata }) => metadata.name ?? '');
const claimOf = (by: ApiObject): object => {
  const { owned, adopt, release } = planClaim(by, objects, ({ metadata }) => metadata.labels?.['app'] === 'web');
  return { owned: names(owned), adopt: names(adopt), release: names(release) };
};

test('an owner adopts matching orphans and releases objects that no longer match', () => {
  assert.deepEqual(claimOf(owner), {
    owned: ['owned'],
    adopt: ['orphan', 'owned without a controller'],
    release: ['relabelled'],
  });
});

test('an owner that is being deleted neither adopts nor releases', () => {
  assert.deepEqual(claimOf(ending), { owned: ['owned'], adopt: [], release: [] });
});

test('objects are indexed by controller, and orphans by namespace', () => {
  assert.deepEqual(objects.slice(0, 4).map(controllerIndex), [['u1'], ['u1'], ['u2'], ['orphans in shop']]);
});
