import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import type { ClusterExport } from '../record.ts';
import { endpoint, headless, http, record, service, sourceSlice } from '../testing/records.ts';
import type { Advertisement } from './advertise.ts';
import { addressesOfNode, advertisedOf } from './advertise.ts';

const exported = (
  spec: Partial<ServiceSpec>,
  { ingress = [], ready = true }: { readonly ingress?: readonly object[]; readonly ready?: boolean } = {},
): ClusterExport =>
  record('east', {
    service: { ...service(spec), status: { loadBalancer: { ingress } } } as ClusterExport['service'],
    slices: [sourceSlice('a', { endpoints: [endpoint('10.0.0.1', { nodeName: 'n1', conditions: { ready } })] })],
  });

const nodePorts = [{ ...http, nodePort: 30080 }];
const nodes = [
  { name: 'n2', addresses: ['192.0.2.2'], isReady: true },
  { name: 'n1', addresses: ['192.0.2.1', '2001:db8::1'], isReady: true },
  { name: 'n3', addresses: ['192.0.2.3'], isReady: false },
];

const rows: readonly {
  readonly name: string;
  readonly given: ClusterExport;
  readonly how: Partial<Advertisement>;
  /** `address:port` of ready endpoints, in brackets of others. */
  readonly want: readonly string[];
  readonly problem?: RegExp;
}[] = [
  {
    name: 'the addresses of its load balancer with the ports of the Service',
    given: exported({ type: 'LoadBalancer' }, { ingress: [{ ip: '203.0.113.5' }, { ip: '2001:db8::5' }] }),
    how: { mode: 'loadbalancer' },
    want: ['203.0.113.5:80', '2001:db8::5:80'],
  },
  {
    name: 'given addresses in place of those of the load balancer',
    given: exported({}),
    how: { mode: 'loadbalancer', addresses: ['198.51.100.7'] },
    want: ['198.51.100.7:80'],
  },
  {
    name: 'addresses that are not ready while no endpoint is',
    given: exported({ type: 'LoadBalancer' }, { ingress: [{ ip: '203.0.113.5' }], ready: false }),
    how: { mode: 'loadbalancer' },
    want: ['(203.0.113.5:80)'],
  },
  {
    name: 'the addresses of ready nodes with the node ports, by the name of the node',
    given: exported({ type: 'NodePort', ports: nodePorts }),
    how: { mode: 'nodeport' },
    want: ['192.0.2.1:30080', '192.0.2.2:30080', '2001:db8::1:30080'],
  },
  {
    name: 'only nodes with ready endpoints if the traffic policy is Local',
    given: exported({ type: 'NodePort', ports: nodePorts, externalTrafficPolicy: 'Local' }),
    how: { mode: 'nodeport' },
    want: ['192.0.2.1:30080', '2001:db8::1:30080'],
  },
  {
    name: 'given addresses with the node ports',
    given: exported({ type: 'NodePort', ports: nodePorts }),
    how: { mode: 'nodeport', addresses: ['198.51.100.7'] },
    want: ['198.51.100.7:30080'],
  },
  {
    name: 'nothing for a load balancer without an address',
    given: exported({ type: 'LoadBalancer' }),
    how: { mode: 'loadbalancer' },
    want: [],
    problem:
      /^Service shop\/web has no load balancer address yet, by which other clusters reach Services of cluster east \(address mode loadbalancer\): see the Events/,
  },
  {
    name: 'nothing for a load balancer with a name only',
    given: exported({ type: 'LoadBalancer' }, { ingress: [{ hostname: 'lb.example.org' }] }),
    how: { mode: 'loadbalancer' },
    want: [],
    problem: /the name lb\.example\.org and no address, .*: set spec\.addresses of the ClusterMember$/,
  },
  {
    name: 'nothing for another type of Service',
    given: exported({}),
    how: { mode: 'loadbalancer' },
    want: [],
    problem: /is of type ClusterIP and has no load balancer address, .*: change its type to LoadBalancer$/,
  },
  {
    name: 'nothing for a Service without node ports',
    given: exported({}),
    how: { mode: 'nodeport' },
    want: [],
    problem: /is of type ClusterIP and has no node port, .*: change its type to NodePort$/,
  },
  {
    name: 'nothing without a ready node',
    given: exported({ type: 'NodePort', ports: nodePorts }),
    how: { mode: 'nodeport', nodes: [] },
    want: [],
    problem: /has no ready node with an address/,
  },
  {
    name: 'nothing for a headless Service',
    given: exported(headless),
    how: { mode: 'nodeport' },
    want: [],
    problem: /is headless and has no node port, .*: give it a cluster IP, or use the address mode pods$/,
  },
];

describe('other clusters import', () => {
  for (const { name, given, how, want, problem } of rows) {
    test(name, () => {
      const found = advertisedOf(given, { mode: 'loadbalancer', nodes, ...how });
      const shown = found.slices.flatMap(({ endpoints, ports }) =>
        (endpoints ?? []).map(({ addresses, conditions }) => {
          const text = `${addresses?.join()}:${ports?.map(({ port }) => port).join()}`;
          return conditions.ready === true ? text : `(${text})`;
        }),
      );
      assert.deepEqual(shown, want);
      if (problem === undefined) assert.equal(found.problem, undefined);
      else assert.match(found.problem ?? '', problem);
    });
  }

  test('at most 100 addresses', () => {
    const many = Array.from({ length: 800 }, (_, index) => ({
      name: `n${index}`,
      addresses: [`10.9.${index >> 8}.${index & 255}`],
      isReady: true,
    }));
    const { slices } = advertisedOf(exported({ type: 'NodePort', ports: nodePorts }), {
      mode: 'nodeport',
      nodes: many,
    });
    assert.equal(slices[0]?.endpoints?.length, 100);
  });
});

test('a node has its external addresses, or its internal ones', () => {
  const node = (addresses: readonly { readonly type: string; readonly address: string }[]): Node =>
    ({
      metadata: { name: 'n1' },
      spec: {},
      status: { addresses, conditions: [{ type: 'Ready', status: 'True' }] },
    }) as unknown as Node;
  const internal = { type: 'InternalIP', address: '10.0.0.1' };
  const external = { type: 'ExternalIP', address: '203.0.113.1' };
  const name = { type: 'Hostname', address: 'n1' };
  assert.deepEqual(addressesOfNode(node([name, internal])), { name: 'n1', addresses: ['10.0.0.1'], isReady: true });
  assert.deepEqual(addressesOfNode(node([internal, external])).addresses, ['203.0.113.1']);
});
