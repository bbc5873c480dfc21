// Precedence of two owners that claim one address or port: each kind of claim against each other, by age, in every
// order of arrival, and as each backend applies it.
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Service, ServiceSpec } from '../api/kinds/core/service/schema.ts';
import { derivedFromAnnotation } from '../api/kinds/multicluster/labels.ts';
import { keyOf } from '../client/key.ts';
import { Kernel } from './nftables/testing/kernel.ts';
import { Ruleset } from './nftables/ruleset.ts';
import { conflictProblems } from './routes/conflict.ts';
import { decide } from './routes/decide.ts';
import { importOwner } from './routes/import.ts';
import { endpoint, network, node, service, slice } from './routes/testing/objects.ts';
import { routeKey } from './routes/route.ts';
import type { RouteInput } from './routes/routes.ts';
import { routesOf } from './routes/routes.ts';
import { serviceOwner } from './routes/service.ts';
import type { Basis } from './routes/precedence.ts';
import { rankOf, precedenceOf } from './routes/precedence.ts';
import { RoutingTable } from './routes/table.ts';
import { Balancer } from './userspace/balancer.ts';

const client = '198.51.100.7';
const nodeAddress = node.nodePortAddresses[0] ?? '';
const ages = ['2020-01-01T00:00:00Z', '2026-01-01T00:00:00Z'] as const;

interface Claim {
  readonly name: string;
  readonly basis: Basis;
  /** It reserves the place without a route there. */
  readonly isSilent?: true;
  /** It can only be at an address of the node. */
  readonly atNode?: true;
  /** It reserves the whole address, not only one port. */
  readonly takesAddress?: true;
  readonly input: (owner: Owner, address: string, port: number) => RouteInput;
}

interface Owner {
  readonly name: string;
  readonly since: string;
  readonly pod: string;
  /** A cluster IP without a conflict. */
  readonly clusterIp: string;
}

const ofService = (
  { name, since, pod, clusterIp }: Owner,
  spec: Partial<ServiceSpec>,
  status: Service['status'] = { loadBalancer: {} },
  annotations: Readonly<Record<string, string>> = {},
): RouteInput => ({
  service: {
    ...service({ clusterIP: clusterIp, ...spec }, { name, creationTimestamp: since, annotations }),
    status,
  },
  slices: [slice([endpoint(pod)])],
  node,
});

const balancer = (ipMode: 'VIP' | 'Proxy') => (owner: Owner, address: string, port: number) =>
  ofService(
    owner,
    { type: 'LoadBalancer', ports: [{ port }] },
    { loadBalancer: { ingress: [{ ip: address, ipMode }] } },
  );

const claims: readonly Claim[] = [
  {
    name: 'cluster IP',
    basis: 'clusterIP',
    takesAddress: true,
    input: (owner, address, port) => ofService(owner, { clusterIP: address, ports: [{ port }] }),
  },
  {
    name: 'cluster IP that another proxy serves',
    basis: 'clusterIP',
    takesAddress: true,
    isSilent: true,
    input: (owner, address, port) => {
      const input = ofService(owner, { clusterIP: address, ports: [{ port }] });
      assert.ok('service' in input);
      const labels = { 'service.kubernetes.io/service-proxy-name': 'other' };
      return { ...input, service: { ...input.service, metadata: { ...input.service.metadata, labels } } };
    },
  },
  {
    name: 'import',
    basis: 'import',
    takesAddress: true,
    input: ({ name, since, pod }, address, port) => ({
      import: {
        key: `shop/${name}`,
        imported: undefined,
        serviceImport: {
          metadata: { name, namespace: 'shop', creationTimestamp: since },
          spec: { type: 'ClusterSetIP', ips: [address], ports: [{ port, protocol: 'TCP' }] },
        },
      },
      slices: [slice([endpoint(pod)])],
      node,
    }),
  },
  {
    name: 'Service derived from an import',
    basis: 'import',
    takesAddress: true,
    input: (owner, address, port) =>
      ofService(owner, { clusterIP: address, ports: [{ port }] }, undefined, { [derivedFromAnnotation]: 'shop/x' }),
  },
  {
    name: 'node port',
    basis: 'nodePort',
    atNode: true,
    input: (owner, _, port) => ofService(owner, { type: 'NodePort', ports: [{ port: 80, nodePort: port }] }),
  },
  {
    name: 'health check port',
    basis: 'healthCheck',
    atNode: true,
    isSilent: true,
    input: (owner, _, port) =>
      ofService(owner, { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: port }),
  },
  { name: 'load balancer', basis: 'loadBalancer', takesAddress: true, input: balancer('VIP') },
  {
    name: 'load balancer outside of the node',
    basis: 'loadBalancer',
    takesAddress: true,
    isSilent: true,
    input: balancer('Proxy'),
  },
  {
    name: 'external IP',
    basis: 'externalIP',
    input: (owner, address, port) => ofService(owner, { externalIPs: [address], ports: [{ port }] }),
  },
];

/** The decision of each backend about a connection: the Pod, or the reason why there is none. */
function decisions(table: RoutingTable, address: string, port: number): ReadonlySet<string> {
  const flow = { source: client, address, protocol: 'TCP', port } as const;
  const verdict = decide(table, flow, { random: () => 0 });
  const change = { removed: [], added: [...table.routes.values()] };

  const balancer = new Balancer({ random: () => 0, now: () => 0, maxAffinityEntries: 10, maxAttempts: 4 });
  balancer.change({ ...change, isAll: true, network });
  const key = routeKey(flow);
  // Without a route there is no listener.
  const decision = balancer.choose({ key, source: client, sourcePort: 1, failed: new Set() });

  const ruleset = new Ruleset('t', 'IPv4');
  const kernel = new Kernel();
  kernel.isNode = (each) => each === nodeAddress;
  kernel.run(ruleset.full(network));
  for (const step of ruleset.apply(change)) kernel.run(step);
  const packet = { saddr: client, daddr: address, protocol: 'tcp', dport: port, isLocal: false } as const;
  const passed = kernel.pass({ ...packet });
  return new Set([
    verdict.type === 'forward' ? verdict.target.address : 'none',
    decision.type === 'forward' ? decision.target.address : 'none',
    typeof passed === 'object' ? (passed.to.split(' ')[0] ?? '') : 'none',
  ]);
}

/** Adds the routes of an input to a table; `isGone`: removes them. */
function set(table: RoutingTable, input: RouteInput, isGone = false): void {
  const owner = 'service' in input ? serviceOwner(keyOf(input.service)) : importOwner(input.import.key);
  if (isGone) table.set(owner, []);
  else table.set(owner, routesOf(input), precedenceOf(input));
}

suite('two claims to one address and port', () => {
  for (const first of claims) {
    for (const second of claims) {
      test(`${first.name} and ${second.name}`, () => {
        const isAtNode = first.atNode === true || second.atNode === true;
        const address = isAtNode ? nodeAddress : '203.0.113.9';
        const port = 30080;
        for (const isFirstOlder of [true, false]) {
          const [older, younger] = ages;
          const contender = (claim: Claim, name: string, pod: string, since: string) => {
            const owner = { name, pod, since, clusterIp: pod.replace('10.1.5', '10.96.0') };
            return { claim, pod, input: claim.input(owner, address, port) };
          };
          const a = contender(first, 'a', '10.1.5.1', isFirstOlder ? older : younger);
          const b = contender(second, 'b', '10.1.5.2', isFirstOlder ? younger : older);
          const difference = rankOf(first.basis) - rankOf(second.basis);
          const winner = difference < 0 || (difference === 0 && isFirstOlder) ? a : b;
          const loser = winner === a ? b : a;
          // Of two equal claims, one without a route leaves the traffic to the other.
          const isTaken = difference !== 0 || winner.claim.isSilent !== true;
          const getter = isTaken ? winner : loser;
          const want = getter.claim.isSilent === true ? 'none' : getter.pod;
          for (const order of [
            [a, b],
            [b, a],
          ]) {
            const table = new RoutingTable(network);
            for (const each of order) set(table, each.input);
            const what = `${isFirstOlder ? 'a' : 'b'} is older, ${order[0] === a ? 'a' : 'b'} came first`;
            assert.deepEqual(decisions(table, address, port), new Set([want]), what);
            const isReported = table.conflicts().some((each) => each.loser.endsWith(loser === a ? '/a' : '/b'));
            assert.equal(isReported, loser.claim.isSilent !== true && getter === winner, `${what}: reported`);
            set(table, winner.input, true);
            const left = loser.claim.isSilent === true ? 'none' : loser.pod;
            assert.deepEqual(decisions(table, address, port), new Set([left]), `${what}, and went`);
            assert.deepEqual(table.conflicts(), []);
            set(table, winner.input);
            assert.deepEqual(decisions(table, address, port), new Set([want]), `${what}, and came back`);
          }
        }
      });
    }
  }
});

test('reserves the whole address: an external IP gets no other port of it', () => {
  const intruder = claims.find(({ basis }) => basis === 'externalIP');
  assert.ok(intruder);
  for (const { name, input, takesAddress = false, atNode = false } of claims) {
    const address = atNode ? nodeAddress : '203.0.113.9';
    const table = new RoutingTable(network);
    const owners = { since: ages[0], clusterIp: '10.96.0.1' };
    set(table, intruder.input({ ...owners, name: 'b', pod: '10.1.5.2', clusterIp: '10.96.0.2' }, address, 443));
    set(table, input({ ...owners, name: 'a', pod: '10.1.5.1', since: ages[1] }, address, 80));
    assert.deepEqual(decisions(table, address, 443), new Set([takesAddress ? 'none' : '10.1.5.2']), name);
  }
});

test('lets Services claim unallocated addresses of the node', () => {
  const table = new RoutingTable(network);
  const input = ofService(
    { name: 'b', since: '', pod: '10.1.5.2', clusterIp: '10.96.0.2' },
    { externalIPs: [nodeAddress] },
  );
  set(table, input);
  assert.deepEqual(decisions(table, nodeAddress, 80), new Set(['10.1.5.2']));
});

test('reports no conflict between claims of one Service', () => {
  const table = new RoutingTable(network);
  const owner = { name: 'a', since: '', pod: '10.1.5.1', clusterIp: '10.96.0.1' };
  set(table, ofService(owner, { externalIPs: ['10.96.0.1'] }));
  assert.equal(table.routes.get('10.96.0.1 TCP 80')?.kind, 'clusterIP');
  assert.equal(table.isClusterIp('10.96.0.1'), true);
  assert.deepEqual(table.conflicts(), []);
});

test('reports one conflict per address, however many ports it has', () => {
  const table = new RoutingTable(network);
  const ports = [80, 443, 8443].map((port) => ({ name: `p${port}`, port }));
  const victim = { name: 'a', since: ages[1], pod: '10.1.5.1', clusterIp: '10.96.0.1' };
  const intruder = { name: 'b', since: ages[0], pod: '10.1.5.2', clusterIp: '10.96.0.2' };
  set(table, ofService(intruder, { externalIPs: ['10.96.0.1'], ports }));
  set(table, ofService(victim, {}));
  assert.deepEqual(conflictProblems(table.conflicts()), [
    {
      owner: 'Service shop/b',
      text: 'Service shop/b does not get 10.96.0.1:443/TCP and 2 more ports: 10.96.0.1 is the cluster IP of Service shop/a',
      fullText:
        'Service shop/b does not get 10.96.0.1:443/TCP and 2 more ports: 10.96.0.1 is the cluster IP of Service shop/a',
    },
  ]);
});
