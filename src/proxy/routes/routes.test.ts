import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { LoadBalancerIngress, Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { actionText, endpoint, node, service, slice } from './testing/objects.ts';
import type { Route } from './route.ts';
import { routesOf } from './routes.ts';

/** A route in one line: its frontend, what becomes of connections, and for whom else. */
function line({ kind, address, protocol, port, action, masquerade, near, sources }: Route): string {
  const rest = [
    ...(near ? [`near ${actionText(near.action)} (${near.masquerade})`] : []),
    ...(sources ? [`from ${sources.join(',') || 'nobody'}`] : []),
  ];
  return [`${kind} ${address} ${protocol} ${port} → ${actionText(action)} (${masquerade})`, ...rest].join(', ');
}

const lines = (of: Service, slices: readonly EndpointSlice[]): readonly string[] =>
  routesOf({ service: of, slices, node }).map(line);

const here = endpoint('10.1.0.1', { node: 'n1' });
const there = endpoint('10.1.1.1', { node: 'n2' });
const both = [slice([here, there])];

const balancer = (spec: Partial<ServiceSpec>, ingress: readonly LoadBalancerIngress[]): Service =>
  service({ type: 'LoadBalancer', ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }], ...spec }, { ingress });

const cases: readonly {
  readonly name: string;
  readonly given: Service;
  readonly slices?: readonly EndpointSlice[];
  readonly want: readonly string[];
}[] = [
  {
    name: 'a cluster IP routes to every ready endpoint',
    given: service(),
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)'],
  },
  {
    name: 'a Service without endpoints refuses connections',
    given: service(),
    slices: [],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)'],
  },
  {
    name: 'internal policy Local uses only endpoints of this node',
    given: service({ internalTrafficPolicy: 'Local' }),
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 (outsiders)'],
  },
  {
    name: 'internal policy Local drops if only other nodes have endpoints, and never falls back',
    given: service({ internalTrafficPolicy: 'Local' }),
    slices: [slice([there])],
    want: ['clusterIP 10.96.0.10 TCP 80 → drop (outsiders)'],
  },
  {
    name: 'internal policy Local rejects if no node has endpoints',
    given: service({ internalTrafficPolicy: 'Local' }),
    slices: [],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)'],
  },
  {
    name: 'node ports and load balancers with policy Cluster masquerade the client',
    given: balancer({}, [{ ip: '203.0.113.5' }]),
    slices: [slice([there])],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → 10.1.1.1:8080 (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → 10.1.1.1:8080 (always)',
      'nodePort 192.0.2.1 TCP 30080 → 10.1.1.1:8080 (always)',
    ],
  },
  {
    name: 'external policy Local preserves the client address, and serves clients on this node as policy Cluster does',
    given: balancer({ externalTrafficPolicy: 'Local', externalIPs: ['198.51.100.1'] }, [{ ip: '203.0.113.5' }]),
    want: [
      'clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)',
      'externalIP 198.51.100.1 TCP 80 → 10.1.0.1:8080 (never), near 10.1.0.1:8080 10.1.1.1:8080 (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → 10.1.0.1:8080 (never), near 10.1.0.1:8080 10.1.1.1:8080 (outsiders)',
      'nodePort 192.0.2.1 TCP 30080 → 10.1.0.1:8080 (never), near 10.1.0.1:8080 10.1.1.1:8080 (outsiders)',
    ],
  },
  {
    name: 'external policy Local without local endpoints drops, except clients on this node',
    given: balancer({ externalTrafficPolicy: 'Local', allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] }, [
      { ip: '203.0.113.5' },
    ]),
    slices: [slice([there])],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → 10.1.1.1:8080 (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → drop (never), near 10.1.1.1:8080 (outsiders)',
    ],
  },
  {
    name: 'load balancers with ipMode Proxy or only a hostname have no routes',
    given: balancer({ ports: [{ port: 80 }] }, [
      { ip: '203.0.113.5', ipMode: 'Proxy' },
      { hostname: 'lb.example.org' },
    ]),
    slices: [],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)'],
  },
  {
    name: 'source ranges apply to load balancers only, without those of the other family or within another',
    given: balancer(
      {
        loadBalancerSourceRanges: [' 198.51.100.0/24 ', '198.51.100.128/25', '2001:db8::/32'],
        externalIPs: ['198.51.100.1'],
        ports: [{ port: 80 }],
      },
      [{ ip: '203.0.113.5' }],
    ),
    slices: [],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → reject (outsiders)',
      'externalIP 198.51.100.1 TCP 80 → reject (always)',
      'loadBalancer 203.0.113.5 TCP 80 → reject (always), from 198.51.100.0/24',
    ],
  },
  {
    name: 'a range of all addresses is no restriction',
    given: balancer({ loadBalancerSourceRanges: ['0.0.0.0/0'], ports: [{ port: 80 }] }, [{ ip: '203.0.113.5' }]),
    slices: [],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)', 'loadBalancer 203.0.113.5 TCP 80 → reject (always)'],
  },
  {
    name: 'a range that contains the node also allows the address of the load balancer',
    given: balancer({ loadBalancerSourceRanges: ['192.0.2.0/24'], ports: [{ port: 80 }] }, [{ ip: '203.0.113.5' }]),
    slices: [],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → reject (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → reject (always), from 192.0.2.0/24,203.0.113.5/32',
    ],
  },
  {
    name: 'invalid ranges allow nothing',
    given: balancer({ loadBalancerSourceRanges: ['nonsense'], ports: [{ port: 80 }] }, [{ ip: '203.0.113.5' }]),
    slices: [],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → reject (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → reject (always), from nobody',
    ],
  },
  {
    name: 'uses terminating endpoints under each policy if none is ready',
    given: balancer({ externalTrafficPolicy: 'Local', ports: [{ port: 80 }] }, [{ ip: '203.0.113.5' }]),
    slices: [
      slice([
        endpoint('10.1.0.1', { node: 'n1', state: 'terminating' }),
        endpoint('10.1.0.2', { node: 'n1', state: 'gone' }),
        endpoint('10.1.0.3', { node: 'n1', state: 'not-ready' }),
        there,
      ]),
    ],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → 10.1.1.1:8080 (outsiders)',
      'loadBalancer 203.0.113.5 TCP 80 → 10.1.0.1:8080 (never), near 10.1.1.1:8080 (outsiders)',
    ],
  },
  {
    name: 'uses terminating endpoints of other nodes if none is ready anywhere',
    given: service(),
    slices: [slice([endpoint('10.1.0.1', { state: 'terminating' }), endpoint('10.1.0.2', { state: 'gone' })])],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 (outsiders)'],
  },
  {
    name: 'zone hints keep traffic in the zone',
    given: service(),
    slices: [slice([endpoint('10.1.0.1', { forZones: ['a'] }), endpoint('10.1.1.1', { forZones: ['b'] })])],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 (outsiders)'],
  },
  {
    name: 'one ready endpoint without a hint disables hints; an endpoint that is not ready does not',
    given: service(),
    slices: [slice([endpoint('10.1.0.1', { forZones: ['a'] }), endpoint('10.1.1.1')])],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)'],
  },
  {
    name: 'ignores hints if none names this zone',
    given: service(),
    slices: [slice([endpoint('10.1.0.1', { forZones: ['b'] }), endpoint('10.1.1.1', { forZones: ['c'] })])],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)'],
  },
  {
    name: 'node hints have precedence over zone hints, and fall back to them',
    given: service(),
    slices: [
      slice([
        endpoint('10.1.0.1', { forNodes: ['n1'], forZones: ['a'] }),
        endpoint('10.1.0.2', { forNodes: ['n2'], forZones: ['a'] }),
      ]),
    ],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 (outsiders)'],
  },
  {
    name: 'an endpoint in two slices counts once, with its best conditions',
    given: service(),
    slices: [slice([endpoint('10.1.0.1', { state: 'not-ready' })]), slice([here])],
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 (outsiders)'],
  },
  {
    name: 'LB-1 one port number on two protocols is two routes, each with the endpoints of its own port',
    given: service({
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns-tcp', port: 53, protocol: 'TCP' },
      ],
    }),
    slices: [
      slice([here], {
        ports: [
          { name: 'dns', port: 5353, protocol: 'UDP' },
          { name: 'dns-tcp', port: 5354, protocol: 'TCP' },
        ],
      }),
    ],
    want: [
      'clusterIP 10.96.0.10 UDP 53 → 10.1.0.1:5353 (outsiders)',
      'clusterIP 10.96.0.10 TCP 53 → 10.1.0.1:5354 (outsiders)',
    ],
  },
  {
    name: 'ports are matched by name and protocol, not by number',
    given: service({ ports: [{ name: '8080', port: 8080, protocol: 'TCP' }] }),
    slices: [slice([here], { ports: [{ name: '8080', port: 8080, protocol: 'UDP' }] })],
    want: ['clusterIP 10.96.0.10 TCP 8080 → reject (outsiders)'],
  },
  {
    name: 'NAME-7 a Service whose name begins with a digit is routed like any other',
    given: service({}, { name: '1password' }),
    want: ['clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)'],
  },
  {
    name: 'each family has the endpoints of its own slices',
    given: service({ clusterIPs: ['10.96.0.10', '2001:DB8:96::A'], ipFamilies: ['IPv4', 'IPv6'] }),
    slices: [...both, slice([endpoint('2001:db8:1::1')], { addressType: 'IPv6' })],
    want: [
      'clusterIP 10.96.0.10 TCP 80 → 10.1.0.1:8080 10.1.1.1:8080 (outsiders)',
      'clusterIP 2001:db8:96::a TCP 80 → 2001:db8:1::1:8080 (outsiders)',
    ],
  },
  {
    name: 'slices with the label of headless Services are ignored',
    given: service(),
    slices: [slice([here], { metadata: { name: 'h', labels: { 'service.kubernetes.io/headless': '' } } })],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)'],
  },
  {
    name: 'endpoints that are host names are ignored',
    given: service(),
    slices: [slice([endpoint('db.example.org')], { addressType: 'FQDN' })],
    want: ['clusterIP 10.96.0.10 TCP 80 → reject (outsiders)'],
  },
  { name: 'headless Services have no routes', given: service({ clusterIP: 'None' }), want: [] },
  { name: 'aliases have no routes', given: service({ type: 'ExternalName', clusterIP: '' }), want: [] },
  { name: 'Services without an address yet have no routes', given: service({ clusterIP: '' }), want: [] },
  {
    name: 'Services of another proxy have no routes',
    given: service({}, { labels: { 'service.kubernetes.io/service-proxy-name': 'other' } }),
    want: [],
  },
];

for (const { name, given, slices = both, want } of cases) {
  test(name, () => assert.deepEqual(lines(given, slices), want));
}

test('uses the timeout of session affinity, three hours by default', () => {
  const seconds = (spec: Partial<ServiceSpec>): number | undefined => {
    const [route] = routesOf({ service: service(spec), slices: both, node });
    return route?.action.type === 'forward' ? route.action.targets[0]?.stickySeconds : undefined;
  };
  assert.equal(seconds({}), 0);
  assert.equal(seconds({ sessionAffinity: 'ClientIP' }), 10_800);
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 7 } };
  assert.equal(seconds({ sessionAffinity: 'ClientIP', sessionAffinityConfig }), 7);
});

test('lists all serving endpoints in UDP routes, whatever the policy', () => {
  const [route] = routesOf({
    service: service({ ports: [{ port: 53, protocol: 'UDP' }], internalTrafficPolicy: 'Local' }),
    slices: [
      slice([here, there, endpoint('10.1.0.7', { state: 'terminating' }), endpoint('10.1.0.8', { state: 'gone' })], {
        ports: [{ port: 53, protocol: 'UDP' }],
      }),
    ],
    node,
  });
  assert.deepEqual([...(route?.serving ?? [])], ['10.1.0.1 53', '10.1.1.1 53', '10.1.0.7 53']);
});
