import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { http, record, serviceExport, superclusterExport, web } from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import type { ClusterExport } from '../record.ts';
import {
  audienceProblem,
  audienceText,
  conflictsIn,
  importerGroups,
  mergeFor,
  seenByExporter,
  unknownIn,
} from './audience.ts';
import { merge } from './merge.ts';
import type { MergeOptions } from './merged.ts';

const annotated = (audience: string | undefined) =>
  audience === undefined ? {} : { annotations: { 'fairlead.dev/audience': audience } };

/** An export in both APIs with an audience. */
const to = (cluster: string, audience: string | undefined, rest: RecordSettings = {}): ClusterExport =>
  record(cluster, {
    superclusterExport: superclusterExport(annotated(audience)),
    serviceExport: serviceExport(annotated(audience)),
    ...rest,
  });

const members = [
  { id: 'east', labels: { tier: 'prod' } },
  { id: 'north', labels: { tier: 'test' } },
  { id: 'west', labels: { tier: 'prod' } },
];

/** Importing cluster → the clusters that it imports from. */
const sources = (records: readonly ClusterExport[], options: MergeOptions = {}): Record<string, string> => {
  const merged = merge(web, records, options);
  return Object.fromEntries(members.map((member) => [member.id, mergeFor(merged, member, options).order.join()]));
};

const other: RecordSettings = { spec: { ports: [{ ...http, port: 8080 }] } };

describe('the merge for an importing cluster', () => {
  const rows: readonly {
    readonly name: string;
    readonly records: readonly ClusterExport[];
    readonly want: Record<string, string>;
  }[] = [
    {
      name: 'has every export without an audience',
      records: [record('east'), record('west')],
      want: { east: 'east,west', north: 'east,west', west: 'east,west' },
    },
    {
      name: 'leaves out exports whose audience does not include it',
      records: [to('east', 'west'), record('west')],
      want: { east: 'east,west', north: 'west', west: 'east,west' },
    },
    {
      name: 'always has its own export',
      records: [to('east', 'north')],
      want: { east: 'east', north: 'east', west: '' },
    },
    {
      name: 'selects importers by their labels',
      records: [to('north', 'tier=prod')],
      want: { east: 'north', north: 'north', west: 'north' },
    },
    {
      name: 'differs where two exports have different audiences',
      records: [to('east', 'north'), to('west', 'tier=prod')],
      want: { east: 'east,west', north: 'east', west: 'west' },
    },
    {
      name: 'has no export of another cluster with an invalid audience',
      records: [to('east', 'Every one')],
      want: { east: 'east', north: '', west: '' },
    },
    {
      name: 'has only exports whose audiences in both APIs include it',
      records: [
        to('east', undefined, {
          superclusterExport: superclusterExport(annotated('west, north')),
          serviceExport: serviceExport(annotated('west')),
        }),
      ],
      want: { east: 'east', north: '', west: 'east' },
    },
    {
      name: 'ignores the audience of an export that is being deleted beside another',
      records: [
        to('east', undefined, {
          superclusterExport: superclusterExport({ ...annotated('west'), deletionTimestamp: '2026-02-01T00:00:00Z' }),
        }),
      ],
      want: { east: 'east', north: 'east', west: 'east' },
    },
  ];
  for (const { name, records, want } of rows) test(name, () => assert.deepEqual(sources(records), want));

  test('is the same object where the audiences include the cluster', () => {
    const merged = merge(web, [to('east', 'west')]);
    assert.equal(mergeFor(merged, { id: 'west' }), merged);
  });

  test('keeps the order of precedence of all exports', () => {
    const older = { serviceExport: serviceExport({ creationTimestamp: '2025-01-01T00:00:00Z' }) };
    const records = [to('east', 'north', older), to('west', 'north', older), record('north', { day: 2 })];
    assert.equal(sources(records, { incumbents: ['north', 'west'] })['north'], 'north,east,west');
    assert.equal(sources(records)['north'], 'east,west,north');
  });
});

describe('conflicts of exports with audiences', () => {
  const seen = (cluster: string, records: readonly ClusterExport[]) => {
    const merged = merge(web, records);
    return seenByExporter(
      merged,
      cluster,
      importerGroups(members, (member) => mergeFor(merged, member)),
    );
  };

  test('do not exist between exports that no cluster imports together', () => {
    const records = [to('east', 'tier=none'), to('west', 'north', other)];
    for (const cluster of ['east', 'west']) {
      assert.deepEqual(seen(cluster, records).conflicts, []);
      assert.ok(seen(cluster, records).views.supercluster);
    }
  });

  test('withdraw the service only from the clusters that import both exports', () => {
    const records = [to('east', 'north'), to('west', 'north', other)];
    const merged = merge(web, records);
    const groups = importerGroups(members, (member) => mergeFor(merged, member));
    assert.equal(conflictsIn(groups).length, 1);
    const east = seenByExporter(merged, 'east', groups);
    assert.equal(east.views.supercluster, undefined);
    assert.deepEqual(east.withdrawnFrom, ['north']);
    assert.deepEqual(
      groups.map(({ importers, merged: { views } }) => [importers.join(), views.supercluster !== undefined]),
      [
        ['east', true],
        ['north', false],
        ['west', true],
      ],
    );
  });
});

test('texts of an audience: what it is, why it is invalid, and which members the set does not have', () => {
  assert.equal(audienceText(record('east')), undefined);
  assert.equal(audienceText(to('east', 'west; tier=prod')), 'west; tier=prod');
  assert.equal(audienceProblem(to('east', 'west')), undefined);
  assert.match(
    audienceProblem(to('east', 'a b')) ?? '',
    /^no other cluster imports the service: annotation fairlead\.dev\/audience is invalid: "a b" is not the id of a member; write/,
  );
  assert.deepEqual(unknownIn(to('east', 'west, nort; tier=prod'), new Set(['east', 'west'])), ['nort']);
});
