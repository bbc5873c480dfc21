import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { merge } from '../merge/merge.ts';
import type { MemberFacts } from '../record.ts';
import { headless, member, record, web } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { emptyMember, now, settle } from './testing/actual.ts';
import { deliveryOf, holdsNothingOf } from './delivery.ts';
import type { Actual } from './desired.ts';
import { diff } from './diff.ts';
import type { Delivery } from './export-conditions.ts';
import { project } from './project.ts';

const reserved: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const merged = merge(web, [record('east')]);
const settled = settle(merged, { member: member('north'), actual: emptyMember, vip: reserved }).actual;
const { serviceImport } = settled;
assert.ok(serviceImport);

describe('deliveries', () => {
  const rows: readonly {
    readonly name: string;
    readonly facts?: Partial<MemberFacts>;
    readonly actual?: Actual;
    readonly vip?: VipState;
    readonly want: Omit<Delivery, 'cluster' | 'refusal'> & { readonly refusal?: string };
  }[] = [
    {
      name: 'MCS-20 acknowledged when nothing is left to write',
      actual: settled,
      want: { state: 'acknowledged', hasAddress: true },
    },
    { name: 'MCS-23 pending while writes are left', want: { state: 'pending', hasAddress: true } },
    {
      name: 'MCS-19 pending while the derived Service has no address',
      facts: { hasStockProxy: true },
      want: { state: 'pending', hasAddress: false },
    },
    {
      name: 'MCS-23 unreachable when the member does not answer',
      facts: { isConnected: false },
      actual: settled,
      want: { state: 'unreachable', hasAddress: false },
    },
    {
      name: 'unreachable while the member has not been read',
      facts: { isSynced: false },
      actual: settled,
      want: { state: 'unreachable', hasAddress: false },
    },
    {
      name: 'MCS-109 acknowledged without the namespace',
      facts: { namespaces: new Set() },
      want: { state: 'acknowledged', hasAddress: true, refusal: 'NamespaceAbsent' },
    },
    {
      name: 'MCS-45 refused when no address is free',
      vip: { state: 'exhausted', family: 'IPv4', message: 'full' },
      want: { state: 'refused', hasAddress: false, refusal: 'NoAddress' },
    },
    {
      name: 'refused when an object of another owner has the name',
      actual: { ...settled, serviceImport: { ...serviceImport, metadata: { ...serviceImport.metadata, labels: {} } } },
      want: { state: 'refused', hasAddress: true, refusal: 'NameTaken' },
    },
  ];
  for (const { name, facts = {}, actual = emptyMember, vip = reserved, want } of rows) {
    test(name, () => {
      const target = { member: member('north', facts), actual, vip };
      const desired = project(merged, target);
      const { cluster, refusal, ...rest } = deliveryOf(target.member, desired, diff(desired, actual, { now }));
      assert.equal(cluster, 'north');
      assert.deepEqual({ ...rest, ...(refusal && { refusal: refusal.reason }) }, want);
    });
  }

  test('MCS-122 acknowledges a withdrawn service when none of its objects is left', () => {
    const facts = member('north', { serves: { supercluster: true, clusterset: false } });
    const conflict = merge(web, [record('east'), record('west', { spec: headless })]);
    const desired = project(conflict, { member: facts, actual: emptyMember, vip: reserved });
    const { state, hasAddress } = deliveryOf(facts, desired, diff(desired, emptyMember, { now }));
    assert.deepEqual([state, hasAddress], ['acknowledged', true]);
  });

  test('MCS-94 needs no address for a headless service', () => {
    const none = merge(web, [record('east', { spec: headless })]);
    const desired = project(none, { member: member('north'), actual: emptyMember, vip: { state: 'unneeded' } });
    assert.equal(deliveryOf(member('north'), desired, diff(desired, emptyMember, { now })).hasAddress, true);
  });

  test('MCS-21 withdraws a cluster when neither slices nor imports name it', () => {
    assert.equal(holdsNothingOf('east', settled), false);
    assert.equal(holdsNothingOf('west', settled), true);
    assert.equal(holdsNothingOf('east', { ...settled, slices: [] }), false);
    assert.equal(holdsNothingOf('east', emptyMember), true);
  });
});
