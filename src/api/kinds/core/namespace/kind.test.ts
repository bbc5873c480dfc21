import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import { namespaceKind } from './kind.ts';
import type { Namespace } from './schema.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };
const bare: Namespace = { metadata: { name: 'shop' }, spec: {}, status: {} };

test('a new namespace has phase Active, its finalizer and its label', () => {
  const made = namespaceKind.prepareForCreate({ ...bare, status: { phase: 'Terminating' } }, context);
  assert.deepEqual(made, {
    metadata: { name: 'shop', labels: { 'kubernetes.io/metadata.name': 'shop' } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
});

test('keeps finalizers of the request and adds that of the server once', () => {
  const given = { ...bare, spec: { finalizers: ['example.org/hold'] } };
  assert.deepEqual(namespaceKind.prepareForCreate(given, context).spec.finalizers, ['example.org/hold', 'kubernetes']);
  const again = { ...bare, spec: { finalizers: ['kubernetes'] } };
  assert.deepEqual(namespaceKind.prepareForCreate(again, context).spec.finalizers, ['kubernetes']);
});

test('an update keeps finalizers and status, and restores the label', () => {
  const old = namespaceKind.prepareForCreate(bare, context);
  const next = namespaceKind.prepareForUpdate(
    { metadata: { name: 'shop', labels: { 'kubernetes.io/metadata.name': 'x', a: 'b' } }, spec: {}, status: {} },
    old,
    context,
  );
  assert.deepEqual(next.spec, old.spec);
  assert.deepEqual(next.status, old.status);
  assert.deepEqual(next.metadata.labels, { 'kubernetes.io/metadata.name': 'shop', a: 'b' });
});

test('sets the label only after the name was generated', () => {
  const made = namespaceKind.applyDefaults({ metadata: { generateName: 'shop-' }, spec: {}, status: {} });
  assert.equal(made.metadata.labels, undefined);
  assert.equal(made.status.phase, 'Active');
});

const phases = [
  { name: 'active', deleted: false, phase: 'Active', want: [] },
  { name: 'Terminating with a deletion timestamp', deleted: true, phase: 'Terminating', want: [] },
  {
    name: 'Terminating without a deletion timestamp',
    deleted: false,
    phase: 'Terminating',
    want: [`Invalid value: "Terminating": may only be 'Active' if \`deletionTimestamp\` is empty`],
  },
  {
    name: 'Active with a deletion timestamp',
    deleted: true,
    phase: 'Active',
    want: [`Invalid value: "Active": may only be 'Terminating' if \`deletionTimestamp\` is not empty`],
  },
] as const;
for (const { name, deleted, phase, want } of phases) {
  test(`status: ${name}`, () => {
    const metadata = { name: 'shop', ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}) };
    const errors = namespaceKind.validateStatus({ metadata, spec: {}, status: { phase } }, bare, context);
    assert.deepEqual(
      errors.map(({ body }) => body),
      want,
    );
    for (const { path } of errors) assert.equal(path, 'status.Phase');
  });
}

test('rejects finalizers that are neither standard nor qualified', () => {
  const given = { ...bare, spec: { finalizers: ['kubernetes', 'mine'] } };
  const why = 'Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified';
  assert.deepEqual(
    [namespaceKind.validateCreate(given, context), namespaceKind.validateUpdate(given, given, context)]
      .flat()
      .map(({ path, body }) => `${path}: ${body}`),
    [`spec.finalizers: ${why}`, `spec.finalizers[1]: ${why}`],
  );
});

test('namespaces do not support deletecollection', () => {
  assert.ok(!namespaceKind.verbs.includes('deletecollection'));
});
