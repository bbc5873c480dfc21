import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import type { LeaseSource, RenewedLease } from './lease.ts';
import { leaseName, leaseNamespace, planLeases, renewed, sourceOfLease, uidOfLease } from './lease.ts';

const renewal = { source: 'east', uid: 'east-uid', holder: 'a', durationMs: 40_000, nowMs: Date.parse('2026-03-01') };
const lease = renewed(undefined, renewal);

describe('the lease of a source', () => {
  test('MCS-80 names its source, its cluster and its duration', () => {
    assert.equal(lease.metadata.name, leaseName('east'));
    assert.equal(lease.metadata.namespace, leaseNamespace);
    assert.equal(sourceOfLease(lease), 'east');
    assert.equal(uidOfLease(lease), 'east-uid');
    assert.deepEqual(lease.spec, {
      holderIdentity: 'a',
      leaseDurationSeconds: 40,
      acquireTime: '2026-03-01T00:00:00.000000Z',
      renewTime: '2026-03-01T00:00:00.000000Z',
    });
  });

  for (const { name, holder, acquireTime } of [
    { name: 'keeps the acquire time of its holder', holder: 'a', acquireTime: '2026-03-01T00:00:00.000000Z' },
    { name: 'gets a new acquire time from another holder', holder: 'b', acquireTime: '2026-03-01T00:00:05.000000Z' },
  ]) {
    test(name, () => {
      const next = renewed(lease, { ...renewal, holder, nowMs: renewal.nowMs + 5000 });
      assert.equal(next.spec.acquireTime, acquireTime);
      assert.equal(next.spec.renewTime, '2026-03-01T00:00:05.000000Z');
    });
  }

  test('keeps the revision and foreign metadata of the stored lease', () => {
    const stored: Lease = {
      ...lease,
      metadata: { ...lease.metadata, resourceVersion: '7', annotations: { ...lease.metadata.annotations, note: 'x' } },
    };
    const { metadata } = renewed(stored, { ...renewal, uid: undefined });
    assert.equal(metadata.resourceVersion, '7');
    assert.deepEqual(metadata.annotations, { 'fairlead.dev/cluster-uid': 'east-uid', note: 'x' });
  });

  test('a lease without our labels has no source', () => {
    assert.equal(sourceOfLease({ metadata: { name: leaseName('east') }, spec: {} }), undefined);
  });
});

describe('planLeases', () => {
  const source = (rest: Partial<LeaseSource> = {}): LeaseSource => ({
    id: 'east',
    uid: 'east-uid',
    confirmedAt: 5,
    usage: 'imported',
    ...rest,
  });
  const at = (confirmedAt: number): RenewedLease => ({ lease, confirmedAt });
  const rows: readonly {
    readonly name: string;
    readonly source?: Partial<LeaseSource>;
    readonly lease?: RenewedLease;
    readonly want: 'renew' | 'remove' | 'nothing';
  }[] = [
    { name: 'MCS-81 creates the lease of an imported source that answers', want: 'renew' },
    { name: 'MCS-81 renews after each answered probe', lease: at(4), want: 'renew' },
    { name: 'MCS-81 does not renew twice for one probe', lease: at(5), want: 'nothing' },
    {
      name: 'MCS-81 does not create a lease before the first answer',
      source: { confirmedAt: undefined },
      want: 'nothing',
    },
    { name: 'creates no lease of an unused source', source: { usage: 'unused' }, want: 'nothing' },
    { name: 'removes the lease of an unused source', source: { usage: 'unused' }, lease: at(4), want: 'remove' },
    { name: 'creates no lease before the clusters are read', source: { usage: 'unknown' }, want: 'nothing' },
    {
      name: 'renews an existing lease before the clusters are read',
      source: { usage: 'unknown' },
      lease: at(-Infinity),
      want: 'renew',
    },
    {
      name: 'does not renew the lease of another cluster with the same id',
      source: { uid: 'other' },
      lease: at(4),
      want: 'nothing',
    },
    {
      name: 'does not renew while the uid of the source is unknown',
      source: { uid: undefined },
      lease: at(4),
      want: 'nothing',
    },
  ];
  for (const { name, source: given, lease: last, want } of rows) {
    test(name, () => {
      const plan = planLeases([source(given)], new Map(last === undefined ? [] : [['east', last]]));
      assert.deepEqual(plan, {
        renew: want === 'renew' ? ['east'] : [],
        remove: want === 'remove' ? ['east'] : [],
      });
    });
  }

  test('MCS-88 plans each source on its own', () => {
    const sources = [
      source(),
      source({ id: 'west', usage: 'unused' }),
      source({ id: 'north', confirmedAt: undefined }),
    ];
    const leases = new Map([['west', at(1)]]);
    assert.deepEqual(planLeases(sources, leases), { renew: ['east'], remove: ['west'] });
  });
});
