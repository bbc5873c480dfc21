// Refusals of network load balancers.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { Plan } from '../../clouds/plan.ts';
import { plan } from '../../clouds/plan.ts';
import type { ServiceChanges } from '../../testing/service.ts';
import { serviceWith } from '../../testing/service.ts';
import { nodeAt } from './testing/backends.ts';
import { networkLoadBalancers, nlbProduct } from './cloud.ts';
import { balancerOf } from './describe.ts';
import type { FoundBalancer } from './found.ts';
import { balancerName, groupName } from './names.ts';
import { settingsOf } from './settings.ts';
import { desiredOf } from './desired.ts';

const prefix = 'service.beta.kubernetes.io/aws-load-balancer-';
const annotated = (annotations: Readonly<Record<string, string>>, ports = '80/TCP', spec: Spec = {}): Service =>
  serviceWith(ports, { annotations: withPrefix({ subnets: 'subnet-a', ...annotations }), spec });
type Spec = NonNullable<ServiceChanges['spec']>;
const withPrefix = (annotations: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(annotations).map(([word, value]) => [`${prefix}${word}`, value]));
const placed = (spec: Spec): Service => annotated({}, '80/TCP', spec);

const nodes = [nodeAt('i-0a')];
const planned = (service: Service, balancer?: FoundBalancer): Plan =>
  plan(networkLoadBalancers({ settings: settingsOf(service), balancer }), {
    service,
    nodes,
    era: 'today',
    product: nlbProduct,
    isMixingAllowed: true,
  });

const refused: readonly (readonly [Service, RegExp])[] = [
  [serviceWith('80/TCP'), /no subnets: annotate the Service with \S+-subnets, or pass --aws-subnets/],
  [annotated({ type: 'clb' }), /-type is "clb": expected nlb or external/],
  [annotated({ subnets: 'eu-a' }), /-subnets is "eu-a": expected IDs such as subnet-0a1b/],
  [annotated({ scheme: 'public' }), /expected internal or internet-facing/],
  [annotated({ 'nlb-target-type': 'pod' }), /expected instance or ip/],
  [
    annotated({ 'nlb-target-type': 'ip', 'enable-tcp-udp-listener': 'true' }, '53/TCP 53/UDP', {
      ports: [
        { port: 53, protocol: 'TCP', targetPort: 5353 },
        { port: 53, protocol: 'UDP', targetPort: 5354 },
      ],
    }),
    /port 53 is one listener for TCP and UDP and needs the same target port for both/,
  ],
  [annotated({ 'healthcheck-port': 'http' }), /expected a port or traffic-port/],
  [annotated({ 'eip-allocations': 'eipalloc-a,eipalloc-b' }), /has 2 addresses for 1 subnets: expected one per subnet/],
  [annotated({ 'ip-address-type': 'dualstack' }, '53/UDP'), /dualstack, which AWS NLB supports for UDP only with/],
  [
    annotated({ 'security-groups': 'sg-0a' }, '80/TCP', { loadBalancerSourceRanges: ['192.0.2.0/24'] }),
    /source ranges are not applied to named security groups: remove the ranges or the groups/,
  ],
  [placed({ loadBalancerSourceRanges: ['192.0.2.0'] }), /"192\.0\.2\.0" is not a source range: expected a CIDR/],
  [placed({ loadBalancerIP: '192.0.2.1' }), /remove spec\.loadBalancerIP/],
  [placed({ ipFamilies: ['IPv6'] }), /over IPv4: add IPv4 to spec\.ipFamilies/],
  [placed({ ports: [{ port: 80 }], allocateLoadBalancerNodePorts: false }), /sends traffic to node ports/],
];
for (const [service, message] of refused) {
  test(`refuses: ${message.source}`, () => {
    const { refusal, resources } = planned(service);
    assert.match(refusal?.message ?? '', message);
    assert.deepEqual(resources, []);
  });
}

const existing = balancerOf({ LoadBalancerName: 'fl-web', Scheme: 'internal' }, {}, {});
const fixed: readonly (readonly [Service, RegExp])[] = [
  [
    annotated({}),
    /cannot change load balancer fl-web in this way: it is internal; delete the Service and create it again/,
  ],
  [annotated({ scheme: 'internal', 'security-groups': 'sg-a' }), /it was created without security groups/],
  [
    annotated({ scheme: 'internal' }, '80/TCP', { loadBalancerSourceRanges: ['192.0.2.0/24'] }),
    /it was created without security groups/,
  ],
  [annotated({ scheme: 'internal', 'eip-allocations': 'eipalloc-a' }), /it has other addresses/],
];
for (const [service, message] of fixed)
  test(`refuses a change: ${message.source}`, () =>
    assert.match(planned(service, existing).refusal?.message ?? '', message));

test('warns about nodes that are not instances and about unsupported annotations', () => {
  const service = annotated({ 'access-log-enabled': 'true' });
  const cloud = networkLoadBalancers({ settings: settingsOf(service), balancer: undefined });
  const stray = { ...nodeAt('i-0a'), metadata: { name: 'stray' }, spec: { providerID: 'kind://docker/kind/stray' } };
  const { events } = plan(cloud, { service, nodes: [stray], era: 'today', product: nlbProduct, isMixingAllowed: true });
  const messages = events.map(({ message }) => message).join('\n');
  assert.match(messages, /annotation \S+-access-log-enabled is not supported/);
  assert.match(messages, /node stray receives no traffic: its spec\.providerID is not an EC2 instance/);
});

test('names have at most 32 valid characters and are stable', () => {
  const owner = { cluster: 'east', namespace: 'a-long-namespace', name: 'a-long-name-of-a-service', uid: 'uid' };
  const names = [
    balancerName(owner),
    balancerName({ ...owner, namespace: 'a', name: 'b' }),
    groupName(owner, { targetType: 'ip', protocol: 'TCP_UDP', port: 65_535, health: { protocol: 'HTTPS' } }),
  ];
  for (const name of names) assert.match(name, /^[a-z0-9](?:[a-z0-9-]{0,30}[a-z0-9])$/);
  assert.deepEqual(names[0], balancerName(owner));
  assert.notEqual(names[0], balancerName({ ...owner, cluster: 'west' }));
});

test('a certificate terminates TLS at the listener, with the selected protocol to targets', () => {
  const certificate = { 'ssl-cert': 'arn:aws:acm:eu-central-1:1:certificate/a', 'ssl-ports': '443' };
  const owner = { cluster: 'east', namespace: 'default', name: 'web', uid: 'uid' };
  const linesFor = (more: Readonly<Record<string, string>>): readonly string[] => {
    const service = annotated({ ...certificate, ...more }, '80/TCP 443/TCP');
    const desired = desiredOf({
      owner,
      service,
      backends: { nodes, slices: [] },
      planned: planned(service),
      settings: settingsOf(service),
      keepsSecurityGroup: true,
    });
    return desired.listeners.map(
      ({ port, protocol }, index) => `${port} ${protocol} to ${desired.groups[index]?.protocol}`,
    );
  };
  assert.deepEqual(linesFor({}), ['80 TCP to TCP', '443 TLS to TCP']);
  assert.deepEqual(linesFor({ 'backend-protocol': 'ssl' }), ['80 TCP to TCP', '443 TLS to TLS']);
});
