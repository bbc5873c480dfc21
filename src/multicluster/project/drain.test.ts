import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { merge } from '../merge/merge.ts';
import type { Merged } from '../merge/merged.ts';
import type { ClusterExport } from '../record.ts';
import { endpoint, http, member, record, sourceSlice, web } from '../testing/records.ts';
import type { RecordSettings } from '../testing/records.ts';
import type { VipState } from '../vip/allocator.ts';
import type { Target } from './desired.ts';
import { drainText, withDraining } from './drain.ts';
import { emptyMember, settle } from './testing/actual.ts';

const vip: VipState = { state: 'reserved', ips: ['241.0.0.7'], families: ['IPv4'] };
const ready = endpoint('10.0.0.1');
const notReady = endpoint('10.0.0.1', { conditions: { ready: false, serving: false, terminating: false } });

const withSlice = (slice: Partial<EndpointSlice>, rest: RecordSettings = {}): RecordSettings => ({
  slices: [sourceSlice('web-abc', slice)],
  ...rest,
});

const admin = { name: 'admin', port: 90, protocol: 'TCP' as const };
const adminPorts = { spec: { ports: [http, admin] } };
const bothPorts = [
  { name: 'http', protocol: 'TCP' as const, port: 8080 },
  { name: 'admin', protocol: 'TCP' as const, port: 9090 },
];

/** Source cluster → the conditions of its endpoints in an importing cluster, such as `ready` or `serving terminating`. */
function imported(records: readonly ClusterExport[], rest: Partial<Target>): Record<string, readonly string[]> {
  const target: Target = { member: member('north'), actual: emptyMember, vip, ...rest };
  const { actual } = settle(merge(web, records), target);
  return Object.fromEntries(
    actual.slices.map(({ metadata, endpoints }) => [
      metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '',
      (endpoints ?? []).map(({ conditions }) =>
        Object.entries(conditions)
          .flatMap(([name, value]) => (value === true ? [name] : []))
          .join(' '),
      ),
    ]),
  );
}

const last = ['serving terminating'];
const used = ['ready serving'];

describe('endpoints of a draining cluster', () => {
  const rows: readonly {
    readonly name: string;
    readonly east?: RecordSettings;
    readonly west?: RecordSettings | undefined;
    readonly target?: Partial<Target>;
    readonly draining?: readonly string[];
    readonly want: readonly string[];
  }[] = [
    { name: 'are terminating where another cluster has ready ones', want: last },
    { name: 'stay where no other cluster exports the service', west: undefined, want: used },
    { name: 'stay where no other is ready', west: withSlice({ endpoints: [notReady] }), want: used },
    {
      name: 'are terminating where another cluster publishes those that are not ready',
      west: withSlice({ endpoints: [notReady] }, { spec: { publishNotReadyAddresses: true } }),
      want: last,
    },
    { name: 'stay where others have no endpoints', west: { slices: [] }, want: used },
    { name: 'stay where all others drain, too', draining: ['east', 'west'], want: used },
    { name: 'stay where the others do not answer', target: { silentClusters: new Set(['west']) }, want: used },
    { name: 'stay where the others are lost', target: { lostClusters: new Set(['west']) }, want: used },
    { name: 'stay where the others were not read', target: { unknownClusters: new Set(['west']) }, want: used },
    { name: 'stay in the cluster itself', target: { member: member('east') }, want: used },
    {
      name: 'stay where no other has one of their ports',
      east: withSlice({ ports: bothPorts }, adminPorts),
      want: used,
    },
    {
      name: 'are terminating where others have all of their ports',
      west: withSlice({ ports: bothPorts }, adminPorts),
      want: last,
    },
    {
      name: 'stay where others have another address family',
      west: withSlice({ addressType: 'IPv6', endpoints: [endpoint('fd00::1')] }),
      want: used,
    },
    {
      name: 'stay where only some nodes may use those of others',
      west: {
        service: {
          ...(record('west').service ?? assert.fail()),
          metadata: { ...web, annotations: { 'fairlead.dev/topology-keys': 'topology.kubernetes.io/zone' } },
        },
      },
      want: used,
    },
    {
      name: 'that are not ready are not serving',
      east: withSlice({ endpoints: [ready, notReady] }),
      want: ['serving terminating', 'terminating'],
    },
  ];
  for (const { name, east = {}, target = {}, draining = ['east'], want, ...row } of rows) {
    test(name, () => {
      const others = 'west' in row && row.west === undefined ? [] : [record('west', row.west ?? {})];
      const drainingClusters = new Set(draining);
      const found = imported([record('east', east), ...others], { ...target, drainingClusters });
      assert.deepEqual(found['east'], want);
    });
  }

  test('the others stay as they are', () => {
    const found = imported([record('east'), record('west')], { drainingClusters: new Set(['east']) });
    assert.deepEqual(found, { east: last, west: used });
  });
});

test('the public name marks the clusters that drain, until they do not', () => {
  const named = { metadata: { ...web, annotations: { 'fairlead.dev/hostname': 'web.example.org' } } };
  const service = { ...(record('east').service ?? assert.fail()), ...named };
  const merged = merge(web, [record('east', { service }), record('west')]);
  const marked = (given: Merged, draining: readonly string[]): readonly unknown[] =>
    (withDraining(given, new Set(draining)).views.supercluster?.publication?.clusters ?? []).map(
      ({ cluster, draining: mark }) => [cluster, mark],
    );
  assert.deepEqual(marked(merged, ['east']), [
    ['east', true],
    ['west', undefined],
  ]);
  assert.deepEqual(marked(withDraining(merged, new Set(['east'])), ['west']), [
    ['east', undefined],
    ['west', true],
  ]);
});

test('the progress of a drain names the services, at most five', () => {
  const keys = ['shop/a', 'shop/b', 'shop/c', 'shop/d', 'shop/e', 'shop/f', 'shop/g'];
  assert.equal(drainText({ kept: [], pending: [] }), 'other clusters use its endpoints only if no others are ready');
  assert.equal(
    drainText({ kept: ['shop/x'], pending: keys }),
    'other clusters still use its endpoints of shop/a, shop/b, shop/c, shop/d, shop/e and 2 more',
  );
  assert.match(drainText({ kept: ['shop/x'], pending: [] }), /^no other cluster has ready endpoints of shop\/x, so /);
});
