import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WriteContext } from '../../../kind.ts';
import type { LeaseSpec } from './kind.ts';
import { leaseKind } from './kind.ts';

const context: WriteContext = { gates: { enabled: () => false }, loopbackEndpoints: [] };

const specs: readonly { name: string; spec: LeaseSpec; want: readonly string[] }[] = [
  { name: 'an empty spec', spec: {}, want: [] },
  { name: 'a holder', spec: { holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 }, want: [] },
  {
    name: 'a duration of zero',
    spec: { leaseDurationSeconds: 0 },
    want: ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  },
  {
    name: 'negative transitions',
    spec: { leaseTransitions: -1 },
    want: ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  },
];
for (const { name, spec, want } of specs) {
  test(`lease: ${name}`, () => {
    const errors = leaseKind.validateCreate({ metadata: { name: 'l', namespace: 'n' }, spec }, context);
    assert.deepEqual(
      errors.map(({ path, body }) => `${path}: ${body}`),
      want,
    );
  });
}

test('drops the fields of coordinated leader election', () => {
  const given = { metadata: { name: 'l' }, spec: { holderIdentity: 'a', strategy: 'Mine', preferredHolder: 'b' } };
  assert.deepEqual(leaseKind.prepareForCreate(given, context).spec, { holderIdentity: 'a' });
  assert.deepEqual(leaseKind.prepareForUpdate(given, given, context).spec, { holderIdentity: 'a' });
});

test('an update creates the lease, and requires a resource version if it exists', () => {
  assert.equal(leaseKind.createOnUpdate, true);
  assert.equal(leaseKind.unconditionalUpdate, false);
});
