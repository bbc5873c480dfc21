import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { service } from '../../api/kinds/core/service/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ManagedFieldsEntry } from '../../api/metadata.ts';
import { fieldSetOf } from './fields/set.ts';
import { settledManagedFields, trackUpdate, withManagedFields } from './managed.ts';
import type { Update } from './managed.ts';

const now = '2024-05-01T10:00:00Z';
const later = '2024-05-01T11:00:00Z';
const resetFields = fieldSetOf(['status']);

const web: Service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
  spec: { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP' }] },
  status: { loadBalancer: {} },
};

const track = (live: Service | undefined, next: Service, options: Partial<Update> = {}) =>
  trackUpdate({ schema: service, live, next, manager: 'alice', apiVersion: 'v1', now, resetFields, ...options });

/** The object with its managers after a write. */
const written = (live: Service | undefined, next: Service, options: Partial<Update> = {}): Service =>
  withManagedFields(next, track(live, next, options));

const entry = (manager: string, fieldsV1: unknown, options: Partial<ManagedFieldsEntry> = {}): ManagedFieldsEntry => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: now,
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...options,
});

const created = written(undefined, web);
const portElement = 'k:{"port":80,"protocol":"TCP"}';
const createdFields = {
  'f:metadata': { 'f:labels': { '.': {}, 'f:app': {} } },
  'f:spec': { 'f:ports': { '.': {}, [portElement]: { '.': {}, 'f:port': {}, 'f:protocol': {} } }, 'f:type': {} },
};
const nodePort: Service = { ...created, spec: { ...created.spec, type: 'NodePort' } };

describe('a create', () => {
  test('owns all fields that were sent', () => {
    assert.deepEqual(created.metadata.managedFields, [entry('alice', createdFields)]);
  });

  test('through a subresource records it, and an empty manager is unknown', () => {
    const [first] =
      track(undefined, web, { subresource: 'status', manager: '', resetFields: fieldSetOf(['spec']) }) ?? [];
    assert.deepEqual(first, entry('unknown', { 'f:metadata': createdFields['f:metadata'] }, { subresource: 'status' }));
  });

  test('of an empty object owns nothing', () => {
    const bare: Service = { metadata: { name: 'web' }, spec: {}, status: { loadBalancer: {} } };
    assert.equal(track(undefined, bare), undefined);
  });

  test('keeps the managers that were sent', () => {
    const sent = withManagedFields(web, [entry('before', { 'f:spec': { 'f:type': {}, 'f:clusterIP': {} } })]);
    assert.deepEqual(track(undefined, sent), [
      entry('alice', createdFields),
      entry('before', { 'f:spec': { 'f:clusterIP': {} } }),
    ]);
  });
});

describe('an update', () => {
  test('without changes returns the same list', () => {
    assert.equal(track(created, structuredClone(created), { now: later }), created.metadata.managedFields);
    assert.equal(track(created, web, { now: later, manager: 'bob' }), created.metadata.managedFields);
  });

  test('owns the fields that it changes', () => {
    assert.deepEqual(track(created, nodePort, { manager: 'bob', now: later }), [
      entry('alice', { ...createdFields, 'f:spec': { 'f:ports': createdFields['f:spec']['f:ports'] } }),
      entry('bob', { 'f:spec': { 'f:type': {} } }, { time: later }),
    ]);
  });

  test('by the same manager updates its time only if it changes something', () => {
    assert.deepEqual(track(created, nodePort, { now: later }), [entry('alice', createdFields, { time: later })]);
  });

  test('that only removes fields keeps the times', () => {
    const { type: _, ...spec } = created.spec;
    assert.deepEqual(track(created, { ...created, spec }, { manager: 'bob', now: later }), [
      entry('alice', { ...createdFields, 'f:spec': { 'f:ports': createdFields['f:spec']['f:ports'] } }),
    ]);
  });

  test('does not own what the endpoint resets', () => {
    const next: Service = { ...created, status: { loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } } };
    assert.equal(track(created, next, { manager: 'bob' }), created.metadata.managedFields);
    assert.deepEqual(
      track(created, next, { manager: 'bob', subresource: 'status', resetFields: fieldSetOf(['spec']) })?.[1],
      entry('bob', { 'f:status': { 'f:loadBalancer': { 'f:ingress': {} } } }, { subresource: 'status' }),
    );
  });

  test('does not start to track an untracked object', () => {
    assert.equal(track(web, { ...web, spec: { type: 'NodePort' } }), undefined);
  });

  test('in another version has another entry', () => {
    const [, second] = track(created, nodePort, { apiVersion: 'v2', now: later }) ?? [];
    assert.deepEqual(second, entry('alice', { 'f:spec': { 'f:type': {} } }, { apiVersion: 'v2', time: later }));
  });

  test('accepts items without keys', () => {
    const next: Service = JSON.parse(JSON.stringify(created).replace('[{"port":80,"protocol":"TCP"}]', '[null]'));
    assert.equal(track(created, next), created.metadata.managedFields);
  });
});

describe('managers sent by a client', () => {
  const mine = [entry('mine', { 'f:spec': { 'f:type': {} } }, { operation: 'Apply' })];
  const cases: { name: string; sent: unknown; want: readonly ManagedFieldsEntry[] | undefined }[] = [
    { name: 'replace the stored ones', sent: mine, want: mine },
    { name: 'are cleared with []', sent: [], want: undefined },
    { name: 'are cleared with [{}]', sent: [{}], want: undefined },
    { name: 'are ignored with null', sent: null, want: created.metadata.managedFields },
    {
      name: 'are ignored without a version',
      sent: [{ ...mine[0], apiVersion: '' }],
      want: created.metadata.managedFields,
    },
    {
      name: 'are ignored with an unknown operation',
      sent: [{ ...mine[0], operation: 'Touch' }],
      want: created.metadata.managedFields,
    },
    {
      name: 'are ignored with an unknown format',
      sent: [{ ...mine[0], fieldsType: 'V2' }],
      want: created.metadata.managedFields,
    },
    {
      name: 'are ignored with invalid fields',
      sent: [{ ...mine[0], fieldsV1: { spec: {} } }],
      want: created.metadata.managedFields,
    },
    { name: 'are dropped if they own nothing', sent: [...mine, entry('x', {})], want: mine },
  ];
  for (const { name, sent, want } of cases) {
    test(name, () => {
      const next = { ...created, metadata: { ...created.metadata, managedFields: sent as ManagedFieldsEntry[] } };
      assert.deepEqual(track(created, next, { manager: 'bob', now: later }), want);
    });
  }

  test('are ignored on a subresource', () => {
    const next = withManagedFields(created, []);
    assert.equal(track(created, next, { subresource: 'status' }), created.metadata.managedFields);
  });

  test('lose the fields that the update changes', () => {
    const next = withManagedFields(nodePort, mine);
    assert.deepEqual(track(created, next, { manager: 'bob' }), [entry('bob', { 'f:spec': { 'f:type': {} } })]);
  });
});

describe('the list', () => {
  test('is sorted by operation, time, manager, version and subresource', () => {
    const set = { 'f:spec': { 'f:clusterIP': {} } };
    const sorted = [
      entry('z', set, { operation: 'Apply', time: later }),
      entry('b', set),
      entry('b', set, { subresource: 'status' }),
      entry('b', set, { apiVersion: 'v2' }),
      entry('c', set),
      entry('a', set, { time: later }),
    ];
    assert.deepEqual(track(created, withManagedFields(created, sorted.toReversed())), sorted);
  });

  test('merges the oldest updaters beyond ten', () => {
    let live = created;
    for (let index = 0; index < 12; index++) {
      const labels = { ...live.metadata.labels, [`key${index}`]: 'x' };
      const next = { ...live, metadata: { ...live.metadata, labels } };
      live = written(live, next, { manager: `m${index}`, now: `2024-05-02T00:00:${String(index).padStart(2, '0')}Z` });
    }
    const entries = live.metadata.managedFields ?? [];
    assert.deepEqual(
      entries.map(({ manager }) => manager),
      ['ancient-changes', ...Array.from({ length: 9 }, (_, index) => `m${index + 3}`)],
    );
    assert.equal(entries[0]?.time, '2024-05-02T00:00:02Z');
    assert.deepEqual(entries[0]?.fieldsV1, {
      ...createdFields,
      'f:metadata': { 'f:labels': { '.': {}, 'f:app': {}, 'f:key0': {}, 'f:key1': {}, 'f:key2': {} } },
    });
  });
});

describe('settled managers', () => {
  test('are the stored ones if only times differ', () => {
    const next = withManagedFields(created, [entry('alice', createdFields, { time: later })]);
    assert.equal(settledManagedFields(created, next), created.metadata.managedFields);
  });

  test('are the new ones if anything else differs', () => {
    const entries = [entry('alice', createdFields, { time: later })];
    const next = withManagedFields(nodePort, entries);
    assert.equal(settledManagedFields(created, next), entries);
    const others = [entry('bob', createdFields)];
    assert.equal(settledManagedFields(created, withManagedFields(created, others)), others);
  });
});
