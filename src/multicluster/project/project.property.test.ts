import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { merge } from '../merge/merge.ts';
import type { ConflictPolicy } from '../merge/merged.ts';
import type { ClusterExport } from '../record.ts';
import { anyRecords } from '../testing/arbitrary-records.ts';
import { member, web } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import { emptyMember, settle } from './testing/actual.ts';
import type { Target } from './desired.ts';
import { MirrorCache } from './mirror.ts';
import { sourceSliceAnnotation } from './labels.ts';

const vip: fc.Arbitrary<VipState> = fc.constantFrom<VipState>(
  { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] },
  { state: 'exhausted', family: 'IPv4', message: 'full' },
  { state: 'unsupported', message: 'none' },
  { state: 'unneeded' },
);

const anyTarget: fc.Arbitrary<Target> = fc
  .record({ hasStockProxy: fc.boolean(), supercluster: fc.boolean(), clusterset: fc.boolean(), vip })
  .map(({ hasStockProxy, supercluster, clusterset, vip: given }) => ({
    member: member('north', { hasStockProxy, serves: { supercluster, clusterset } }),
    actual: emptyMember,
    vip: given,
  }));

const policy = fc.constantFrom<ConflictPolicy>('Withdraw', 'OldestWins', 'Quarantine');

describe('projecting, whatever is merged', () => {
  test('computes no writes after applying them', () => {
    fc.assert(
      fc.property(anyRecords, anyRecords, anyTarget, policy, (before, after, target, conflictPolicy) => {
        const first = settle(merge(web, before, { conflictPolicy }), target);
        // From any state of the set to any other, not only from an empty member.
        const second = settle(merge(web, after, { conflictPolicy }), { ...target, actual: first.actual });
        const third = settle(merge(web, after, { conflictPolicy }), { ...target, actual: second.actual });
        assert.deepEqual(third.writes, []);
      }),
    );
  });

  test('reaches the same objects from every state', () => {
    fc.assert(
      fc.property(anyRecords, anyRecords, anyTarget, policy, (before, after, target, conflictPolicy) => {
        const first = settle(merge(web, before, { conflictPolicy }), target);
        const around = settle(merge(web, after, { conflictPolicy }), { ...target, actual: first.actual }).desired;
        const straight = settle(merge(web, after, { conflictPolicy }), target).desired;
        assert.deepEqual(withoutUids(around), withoutUids(straight));
      }),
    );
  });

  test('MCS-61 MCS-69 never mixes endpoints of several slices', () => {
    fc.assert(
      fc.property(anyRecords, anyTarget, policy, (records, target, conflictPolicy) => {
        const { slices } = settle(merge(web, records, { conflictPolicy }), target).actual;
        for (const { metadata, endpoints } of slices) {
          const source = sourceOf(
            records,
            metadata.labels?.[sourceClusterLabel] ?? '',
            metadata.annotations?.[sourceSliceAnnotation] ?? '',
          );
          assert.deepEqual(
            endpoints?.map(({ addresses }) => addresses),
            source?.endpoints?.map(({ addresses }) => addresses),
          );
        }
        const names = slices.map(({ metadata }) => metadata.name);
        assert.equal(new Set(names).size, names.length);
      }),
    );
  });

  test('computes the same results with and without the cache', () => {
    fc.assert(
      fc.property(anyRecords, anyRecords, anyTarget, policy, (before, after, target, conflictPolicy) => {
        const mirrors = new MirrorCache();
        const first = settle(merge(web, before, { conflictPolicy }), { ...target, mirrors });
        const given = { ...target, actual: first.actual };
        const second = settle(merge(web, after, { conflictPolicy }), { ...given, mirrors });
        assert.deepEqual(
          withoutUids(second.desired),
          withoutUids(settle(merge(web, after, { conflictPolicy }), given).desired),
        );
        const again = settle(merge(web, after, { conflictPolicy }), { ...given, actual: second.actual, mirrors });
        assert.deepEqual(again.writes, []);
      }),
    );
  });

  test('never removes contributions of unknown clusters', () => {
    fc.assert(
      fc.property(anyRecords, fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e']), anyTarget, (records, unknown, target) => {
        const before = settle(merge(web, records, { conflictPolicy: 'OldestWins' }), target).actual;
        const known = records.filter(({ cluster }) => !unknown.includes(cluster));
        const after = settle(merge(web, known, { conflictPolicy: 'OldestWins' }), {
          ...target,
          actual: before,
          unknownClusters: new Set(unknown),
        }).actual;
        const kept = before.slices.filter(({ metadata }) =>
          unknown.includes(metadata.labels?.[sourceClusterLabel] ?? ''),
        );
        for (const slice of kept) assert.ok(after.slices.includes(slice));
        const wasListed = before.importedService?.spec?.clusters?.some(({ cluster }) => unknown.includes(cluster));
        if (wasListed === true) assert.ok(after.importedService);
        const listed = before.serviceImport?.status?.clusters ?? [];
        for (const { cluster } of listed) {
          if (unknown.includes(cluster)) {
            assert.ok(after.serviceImport?.status?.clusters?.some((each) => each.cluster === cluster));
          }
        }
      }),
    );
  });
});

const sourceOf = (records: readonly ClusterExport[], cluster: string, slice: string) =>
  records.find((record) => record.cluster === cluster)?.slices.find(({ metadata }) => metadata.name === slice);

/** Without UIDs, which the server sets. */
const withoutUids = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === 'uid' ? '' : part)));
