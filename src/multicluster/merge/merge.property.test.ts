import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { anyRecord, anyRecords, shuffledWithDuplicates } from '../testing/arbitrary-records.ts';
import { web } from '../testing/records.ts';
import { merge } from './merge.ts';
import type { Merged, MergeOptions, ConflictPolicy } from './merged.ts';

const options: fc.Arbitrary<MergeOptions> = fc.record({
  conflictPolicy: fc.constantFrom<ConflictPolicy>('Withdraw', 'OldestWins', 'Quarantine'),
  incumbents: fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'gone']),
});

/** Merges the inputs of two merges. */
const combine = (left: Merged, right: Merged, given: MergeOptions): Merged =>
  merge(
    left,
    [...left.exporters, ...right.exporters].map(({ record }) => record),
    given,
  );

describe('merge of arbitrary records', () => {
  test('does not depend on the order or duplication of records', () => {
    const cases = anyRecords
      .filter((records) => records.length > 0)
      .chain((records) => fc.tuple(fc.constant(records), shuffledWithDuplicates(records), options));
    fc.assert(
      fc.property(cases, ([records, shuffled, given]) => {
        assert.deepEqual(merge(web, shuffled, given), merge(web, records, given));
      }),
    );
  });

  test('uses the latest revision of a cluster that was read twice', () => {
    fc.assert(
      fc.property(anyRecord, anyRecord, options, (left, other, given) => {
        const right = { ...other, cluster: left.cluster };
        assert.deepEqual(merge(web, [left, right], given), merge(web, [right, left], given));
        const later = {
          ...right,
          slices: right.slices.map((slice) => slice),
          service: right.service && {
            ...right.service,
            metadata: { ...right.service.metadata, resourceVersion: '99' },
          },
        };
        if (later.service !== undefined) assert.deepEqual(merge(web, [later, left], given), merge(web, [later], given));
      }),
    );
  });

  test('is associative: merging the merges of a partition equals merging all', () => {
    const partition = fc.tuple(anyRecords, fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 5, maxLength: 5 }));
    fc.assert(
      fc.property(partition, options, ([records, parts], given) => {
        const [one, two, three] = [0, 1, 2].map((part) =>
          merge(
            web,
            records.filter((_, index) => parts[index] === part),
            given,
          ),
        );
        if (one === undefined || two === undefined || three === undefined) throw new Error('bug: three parts');
        const all = merge(web, records, given);
        assert.deepEqual(combine(combine(one, two, given), three, given), all);
        assert.deepEqual(combine(one, combine(two, three, given), given), all);
        assert.deepEqual(combine(all, all, given), all);
      }),
    );
  });

  test('is idempotent when it receives its own order', () => {
    fc.assert(
      fc.property(anyRecords, options, (records, given) => {
        const merged = merge(web, records, given);
        assert.deepEqual(merge(web, records, { ...given, incumbents: merged.order }), merged);
      }),
    );
  });

  test('MCS-137 every conflict names all compared clusters, a winner and a fix', () => {
    fc.assert(
      fc.property(anyRecords, options, (records, given) => {
        const { conflicts, order } = merge(web, records, given);
        for (const { values, winner, losers, fix, field, apis } of conflicts) {
          const named = values.map(({ cluster }) => cluster);
          assert.ok(named.length >= 2 && named.every((cluster) => order.includes(cluster)), field);
          assert.ok(named.includes(winner) && losers.length > 0 && !losers.includes(winner), field);
          assert.ok(
            losers.every((cluster) => named.includes(cluster)),
            field,
          );
          assert.ok(fix.clusters.length > 0 && fix.clusters.length < named.length, field);
          assert.ok(apis.length > 0, field);
        }
      }),
    );
  });

  test('the ports of a view form a valid Service, and each is routed only to clusters that have it', () => {
    fc.assert(
      fc.property(anyRecords, options, (records, given) => {
        const { views } = merge(web, records, given);
        for (const view of [views.supercluster, views.clusterset]) {
          if (view === undefined) continue;
          const names = view.ports.map(({ name }) => name);
          const numbers = view.ports.map(({ port, protocol }) => `${port}/${protocol}`);
          assert.equal(new Set(names).size, names.length);
          assert.equal(new Set(numbers).size, numbers.length);
          assert.ok(names.length < 2 || !names.includes(''));
          for (const { name, port, protocol, clusters } of view.ports) {
            for (const cluster of clusters) {
              const service = records.find((record) => record.cluster === cluster)?.service;
              assert.ok(
                service?.spec.ports?.some((own) => own.name === name && own.port === port && own.protocol === protocol),
              );
            }
          }
        }
      }),
    );
  });

  test('MCS-122 Withdraw hides the supercluster view only on a conflict; Quarantine leaves no conflict in it', () => {
    fc.assert(
      fc.property(anyRecords, (records) => {
        const { views, conflicts, order } = merge(web, records);
        const isConflict = conflicts.some(({ apis }) => apis.includes('supercluster'));
        assert.equal(views.supercluster === undefined, isConflict || order.length === 0);
        const { quarantined } = merge(web, records, { conflictPolicy: 'Quarantine' });
        assert.equal(quarantined.length > 0, isConflict);
        const left = merge(
          web,
          records.filter(({ cluster }) => !quarantined.includes(cluster)),
        );
        assert.equal(left.views.supercluster === undefined, order.length === 0);
      }),
    );
  });
});
