import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Verdict } from './decide.ts';
import { choose, decide } from './decide.ts';
import { endpoint, network, node, service, slice } from './testing/objects.ts';
import type { NodeNetwork, Target } from './route.ts';
import { routesOf } from './routes.ts';
import { RoutingTable } from './table.ts';

const outsider = '198.51.100.9';
const pod = '10.1.0.7';
const self = '192.0.2.1';

function tableOf(around: Partial<NodeNetwork> = {}): RoutingTable {
  const table = new RoutingTable({ ...network, ...around });
  const local = service(
    {
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Local',
      loadBalancerSourceRanges: ['198.51.100.0/24', '10.1.0.0/16', '192.0.2.1/32'],
    },
    { ingress: [{ ip: '203.0.113.5' }] },
  );
  table.set(
    'Service shop/web',
    routesOf({ service: local, slices: [slice([endpoint('10.1.1.1', { node: 'n2' })])], node }),
  );
  return table;
}

const text = (verdict: Verdict): string =>
  verdict.type === 'forward' ? `${verdict.target.address}${verdict.masquerade ? ' masqueraded' : ''}` : verdict.type;

const cases: readonly {
  readonly name: string;
  readonly source: string;
  readonly to: string;
  readonly port?: number;
  readonly around?: Partial<NodeNetwork>;
  readonly want: string;
}[] = [
  { name: 'masquerades no Pods', source: pod, to: '10.96.0.10', want: '10.1.1.1' },
  { name: 'masquerades other clients', source: outsider, to: '10.96.0.10', want: '10.1.1.1 masqueraded' },
  { name: 'masquerades the node', source: self, to: '10.96.0.10', want: '10.1.1.1 masqueraded' },
  {
    name: 'masqueradeAll masquerades all',
    source: pod,
    to: '10.96.0.10',
    around: { masqueradeAll: true },
    want: '10.1.1.1 masqueraded',
  },
  {
    name: 'keeps the source of all clients if Pod ranges are unknown',
    source: outsider,
    to: '10.96.0.10',
    around: { podRanges: [] },
    want: '10.1.1.1',
  },
  {
    name: 'treats a client with the destination address as the node',
    source: '203.0.113.5',
    to: '203.0.113.5',
    want: '10.1.1.1 masqueraded',
  },
  { name: 'policy Local drops other clients', source: outsider, to: '203.0.113.5', want: 'drop' },
  { name: 'policy Local serves Pods of this node', source: pod, to: '203.0.113.5', want: '10.1.1.1' },
  { name: 'policy Local serves the node itself', source: self, to: '203.0.113.5', want: '10.1.1.1 masqueraded' },
  { name: 'drops clients outside the source ranges', source: '192.0.2.200', to: '203.0.113.5', want: 'drop' },
  {
    name: 'refuses a port that a cluster IP does not have',
    source: pod,
    to: '10.96.0.10',
    port: 81,
    want: 'reject',
  },
  { name: 'drops packets to an unused virtual address', source: pod, to: '10.96.0.99', want: 'drop' },
  { name: 'passes packets to other addresses', source: pod, to: '203.0.113.5', port: 81, want: 'pass' },
];

for (const { name, source, to, port = 80, around = {}, want } of cases) {
  test(name, () => {
    const flow = { source, address: to, protocol: 'TCP' as const, port };
    assert.equal(text(decide(tableOf(around), flow, { random: () => 0.5 })), want);
  });
}

const target = (address: string, weight: number, stickySeconds = 0): Target => ({
  address,
  port: 80,
  weight,
  stickySeconds,
  isLocal: false,
});

test('draws targets by weight', () => {
  const targets = [target('a', 1), target('b', 3)];
  const drawn = [0, 0.249, 0.25, 0.999].map((number) => choose(targets, { random: () => number }).address);
  assert.deepEqual(
    drawn,
    ['a', 'b', 'b', 'b'].map((name, index) => (index === 1 ? 'a' : name)),
  );
});

test('MCS-131 honors affinity only for targets with affinity', () => {
  const targets = [target('a', 1, 60), target('b', 1)];
  const affinityTarget = (address: string): string =>
    choose(targets, { random: () => 0.9, affinityTarget: { address, port: 80 } }).address;
  assert.equal(affinityTarget('a'), 'a');
  assert.equal(choose(targets, { random: () => 0, affinityTarget: { address: 'b', port: 80 } }).address, 'a');
  assert.equal(affinityTarget('gone'), 'b');
});
