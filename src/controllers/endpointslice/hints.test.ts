import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { gatesWith } from '../../api/gates.ts';
import type { ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { applied, nodes, pod, service } from '../testing/objects.ts';
import type { Observed, Plan } from './plan.ts';
import { plan } from './plan.ts';

const planned = (observed: Partial<Observed>): Plan =>
  plan({ service: service(), pods: [], nodes: nodes(), slices: [], gates: gatesWith(), ...observed });

/** `zone@node` of every endpoint; `-` where there is no hint. */
const hintsIn = (slices: readonly EndpointSlice[]): string =>
  slices
    .flatMap(({ endpoints }) => endpoints ?? [])
    .map(({ hints }) => {
      const zones = hints?.forZones?.map(({ name }) => name).join('+') ?? '';
      const names = hints?.forNodes?.map(({ name }) => `@${name}`).join('+') ?? '';
      return hints === undefined ? '-' : `${zones}${names}`;
    })
    .join(' ');

const threePods = [
  pod('a'),
  pod('b', { ips: ['10.0.0.2'], node: 'n2' }),
  pod('c', { ips: ['10.0.0.3'], node: 'n2', ready: false }),
  pod('d', { ips: ['10.0.0.4'], node: 'nowhere' }),
];
const twoZones = nodes({ n1: 'east', n2: 'west', nowhere: '' });

const auto = { 'service.kubernetes.io/topology-mode': 'Auto' };

const cases: readonly {
  readonly name: string;
  readonly spec: Partial<ServiceSpec>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly gate?: boolean;
  readonly want: string;
}[] = [
  { name: 'none by default', spec: {}, want: '- - - -' },
  { name: 'PreferClose hints the own zone', spec: { trafficDistribution: 'PreferClose' }, want: 'east west - -' },
  { name: 'PreferSameZone hints the own zone', spec: { trafficDistribution: 'PreferSameZone' }, want: 'east west - -' },
  {
    name: 'PreferSameNode adds the node',
    spec: { trafficDistribution: 'PreferSameNode' },
    want: 'east@n1 west@n2 - @nowhere',
  },
  {
    name: 'the newer values need their gate',
    spec: { trafficDistribution: 'PreferSameNode' },
    gate: false,
    want: '- - - -',
  },
  {
    name: 'PreferClose needs no gate',
    spec: { trafficDistribution: 'PreferClose' },
    gate: false,
    want: 'east west - -',
  },
  { name: 'an unknown value', spec: { trafficDistribution: 'example.org/far' }, want: '- - - -' },
  {
    name: 'the annotation wins, even if it yields no hints',
    spec: { trafficDistribution: 'PreferClose' },
    annotations: auto,
    want: '- - - -',
  },
  {
    name: 'the deprecated annotation wins over the current one',
    spec: { trafficDistribution: 'PreferClose' },
    annotations: { ...auto, 'service.kubernetes.io/topology-aware-hints': 'Disabled' },
    want: 'east west - -',
  },
];

for (const { name, spec, annotations = {}, gate = true, want } of cases) {
  test(`hints: ${name}`, () => {
    const { create } = planned({
      service: service(spec, { annotations }),
      pods: threePods,
      nodes: twoZones,
      gates: gatesWith({ PreferSameTrafficDistribution: gate }),
    });
    assert.equal(hintsIn(create), want);
  });
}

test('adds and removes hints by updating the existing slice', () => {
  const given = { pods: threePods, nodes: twoZones };
  const plain = applied([], planned(given));
  const hinted = applied(
    plain,
    planned({ ...given, slices: plain, service: service({ trafficDistribution: 'PreferClose' }) }),
  );
  assert.equal(hintsIn(hinted), 'east west - -');
  assert.deepEqual(applied(hinted, planned({ ...given, slices: hinted })), plain);
});

/** Ready Pods, so many on the node of each zone. */
const podsPerNode = (counts: Readonly<Record<string, number>>) =>
  Object.entries(counts).flatMap(([node, count]) =>
    Array.from({ length: count }, (_, index) =>
      pod(`${node}-${index}`, { node, ips: [`10.${node.slice(1)}.0.${index}`] }),
    ),
  );

const topologyCases: readonly {
  readonly name: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly zones: Readonly<Record<string, string>>;
  readonly cpu?: Readonly<Record<string, string>>;
  readonly want: Readonly<Record<string, number>>;
  readonly event: string;
}[] = [
  {
    name: 'keeps endpoints in their zone if the shares match',
    counts: { n1: 3, n2: 3 },
    zones: { n1: 'east', n2: 'west' },
    want: { east: 3, west: 3 },
    event: 'Topology Aware Hints has been enabled, addressType: IPv4',
  },
  {
    name: 'allocates endpoints of other zones to a zone without endpoints',
    counts: { n1: 6 },
    zones: { n1: 'east', n2: 'west' },
    want: { east: 3, west: 3 },
    event: 'Topology Aware Hints has been enabled, addressType: IPv4',
  },
  {
    name: 'shares follow the CPU',
    counts: { n1: 4, n2: 4 },
    zones: { n1: 'east', n2: 'west' },
    cpu: { n1: '6', n2: '2000m' },
    want: { east: 6, west: 2 },
    event: 'Topology Aware Hints has been enabled, addressType: IPv4',
  },
  {
    name: 'a single zone disables hints',
    counts: { n1: 4 },
    zones: { n1: 'east', n2: 'east' },
    want: { '-': 4 },
    event: 'Nodes only ready in one zone, addressType: IPv4',
  },
  {
    name: 'a node without a zone disables hints',
    counts: { n1: 4 },
    zones: { n1: 'east', n2: '' },
    want: { '-': 4 },
    event:
      'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes, addressType: IPv4',
  },
  {
    name: 'fewer endpoints than zones',
    counts: { n1: 1 },
    zones: { n1: 'east', n2: 'west' },
    want: { '-': 1 },
    event: 'Insufficient number of endpoints (1 endpoints, 2 zones), addressType: IPv4',
  },
  {
    name: 'shares that would overload a zone by more than a fifth',
    counts: { n1: 2, n2: 1 },
    zones: { n1: 'east', n2: 'west' },
    want: { '-': 3 },
    event:
      'Minimum allocation of required endpoints exceeds overload threshold (3 endpoints, 2 zones), addressType: IPv4',
  },
];

for (const { name, counts, zones, cpu = {}, want, event } of topologyCases) {
  test(`topology: ${name}`, () => {
    const given = {
      service: service({}, { annotations: auto }),
      pods: podsPerNode(counts),
      nodes: nodes(zones, cpu),
      maxEndpointsPerSlice: 3,
    };
    const first = planned(given);
    const found = hintsIn(first.create).split(' ');
    assert.deepEqual(
      Object.fromEntries(Object.keys(want).map((zone) => [zone, found.filter((hint) => hint === zone).length])),
      want,
    );
    assert.deepEqual(
      first.events.map(({ message }) => message),
      [event],
    );
    const slices = applied([], first);
    const again = planned({ ...given, slices });
    assert.deepEqual([again.create, again.update, again.remove], [[], [], []]);
    assert.equal(again.events.length, '-' in want ? 1 : 0);
  });
}

test('topology: an endpoint without a zone removes all hints', () => {
  const { create, events } = planned({
    service: service({}, { annotations: auto }),
    pods: [...podsPerNode({ n1: 3, n2: 2 }), pod('lost', { node: '', ips: ['10.9.0.1'] })],
    nodes: nodes({ n1: 'east', n2: 'west' }),
  });
  assert.equal(hintsIn(create), '- - - - - -');
  assert.match(events[0]?.message ?? '', /^One or more endpoints do not have a zone specified/);
});

test('topology: hints are stable after one write and name only zones with schedulable nodes', () => {
  const zones = { n1: 'east', n2: 'west', n3: 'north' };
  const counts = fc.record({ n1: fc.nat(6), n2: fc.nat(6), n3: fc.nat(6), n4: fc.nat(2) });
  const controlPlane = [...nodes({ n4: 'south' })].map(([name, node]) => {
    const labels = { ...node.metadata.labels, 'node-role.kubernetes.io/control-plane': '' };
    return [name, { ...node, metadata: { ...node.metadata, labels } }] as const;
  });
  const cores = fc.integer({ min: 1, max: 8 }).map(String);
  const cpu = fc.record({ n1: cores, n2: cores, n3: cores });
  fc.assert(
    fc.property(fc.array(counts, { minLength: 1, maxLength: 4 }), cpu, (history, cpus) => {
      const given = {
        service: service({}, { annotations: auto }),
        // The zone of the fourth node has Pods but is not schedulable.
        nodes: new Map([...nodes(zones, cpus), ...controlPlane]),
        maxEndpointsPerSlice: 3,
      };
      let slices: EndpointSlice[] = [];
      for (const each of history) {
        const pods = podsPerNode(each);
        slices = applied(slices, planned({ ...given, pods, slices }));
        const again = planned({ ...given, pods, slices });
        assert.deepEqual([again.create, again.update, again.remove], [[], [], []]);
        const hints = hintsIn(slices).split(' ');
        assert.ok(!hints.includes('south'));
        assert.ok(new Set(hints).size === 1 || !hints.includes('-'), 'all endpoints have hints, or none');
      }
    }),
    { numRuns: 150 },
  );
});
