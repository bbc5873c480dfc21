// The rules of each cloud: the table of KEP-1435 (LB-11 to LB-20), in 2020 and today.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { ServiceChanges } from '../testing/service.ts';
import { serviceWith } from '../testing/service.ts';
import { tcpUdpListener } from './aws.ts';
import type { Era } from './product.ts';
import { cloudNamed, clouds } from './clouds.ts';
import type { Account } from './cloud.ts';
import type { Plan } from './plan.ts';
import { plan } from './plan.ts';
import { unitsOf } from './resource.ts';

interface Given extends ServiceChanges {
  readonly product?: string;
  readonly account?: Account;
}

function planned(name: string, era: Era, ports: string, { product, account, ...changes }: Given = {}): Plan {
  const cloud = cloudNamed(name);
  assert.ok(cloud);
  const service: Service = serviceWith(ports, changes);
  return plan(cloud, { service, era, product, isMixingAllowed: true, ...(account === undefined ? {} : { account }) });
}

/** The units as text, or the code of the first fault. */
function result(one: Plan): string {
  if (one.refusal === undefined)
    return unitsOf(one.resources)
      .map(({ id }) => id)
      .join(' ');
  const codes = one.ports.flatMap(({ fault }) => fault?.code ?? []);
  const code = codes.find((each) => !each.endsWith('OtherPortRefused')) ?? '';
  return `refused ${code.slice(code.indexOf('/') + 1)}`;
}

const aws = 'service.beta.kubernetes.io/aws-load-balancer';
const nlb = { annotations: { [`${aws}-type`]: 'nlb' } };
const external = { annotations: { [`${aws}-type`]: 'external' } };
const tcpUdp = { annotations: { [`${aws}-type`]: 'external', [tcpUdpListener]: 'true' } };
const azureInternal = { 'service.beta.kubernetes.io/azure-load-balancer-internal': 'true' };
const gceClass = { spec: { loadBalancerClass: 'networking.gke.io/l4-regional-external' } };
const ociNlb = { annotations: { 'oci.oraclecloud.com/load-balancer-type': 'nlb' } };
const ibmNlb = { annotations: { 'service.kubernetes.io/ibm-load-balancer-cloud-provider-enable-features': 'nlb' } };

const dns = '53/TCP 53/UDP';
const two = '80/TCP 81/UDP';
const mixed = 'refused MixedProtocolNotSupported';
const samePort = 'refused SamePortNotSupported';
const protocol = 'refused UnsupportedProtocol';

const cases: readonly (readonly [id: string, cloud: string, era: Era, ports: string, want: string, given?: Given])[] = [
  ['LB-11', 'alibaba', '2020-07', two, 'TCP:80 UDP:81'],
  ['LB-11', 'alibaba', '2020-07', dns, samePort],
  ['LB-11', 'alibaba', 'today', dns, 'TCP:53 UDP:53'],
  ['LB-11', 'alibaba', 'today', '9000/SCTP', protocol],
  ['LB-11', 'alibaba', 'today', dns, 'TCP:53 UDP:53', { spec: { loadBalancerClass: 'alibabacloud.com/nlb' } }],
  ['LB-12', 'aws', '2020-07', '80/TCP', 'TCP:80'],
  ['LB-12', 'aws', '2020-07', two, mixed],
  ['LB-12', 'aws', 'today', '53/UDP', protocol],
  ['LB-12', 'aws', '2020-07', two, 'TCP:80 UDP:81', nlb],
  ['LB-12', 'aws', '2020-07', dns, samePort, nlb],
  ['LB-12', 'aws', 'today', two, mixed, nlb],
  ['LB-12', 'aws', 'today', '53/UDP', 'UDP:53', nlb],
  ['LB-12', 'aws', 'today', two, 'TCP:80 UDP:81', external],
  ['LB-12', 'aws', 'today', dns, 'refused SamePortOptInRequired', external],
  ['LB-12', 'aws', 'today', dns, 'TCP_UDP:53', tcpUdp],
  ['LB-12', 'aws', 'today', `${dns} 443/TCP`, 'TCP_UDP:53 TCP:443', tcpUdp],
  ['LB-12', 'aws', 'today', '9000/SCTP', protocol, tcpUdp],
  ['LB-12', 'aws', 'today', '80/TCP', 'refused UnsupportedAffinity', { spec: { sessionAffinity: 'ClientIP' } }],
  ['LB-12', 'aws', 'today', '80/TCP', 'refused UnsupportedLoadBalancerIP', { spec: { loadBalancerIP: '192.0.2.1' } }],
  [
    'LB-12',
    'aws',
    'today',
    '80/TCP',
    'refused UnsupportedAppProtocol',
    { annotations: { ...nlb.annotations, [`${aws}-backend-protocol`]: 'http' } },
  ],
  [
    'LB-12',
    'aws',
    'today',
    dns,
    'refused UnsupportedTls',
    { annotations: { ...tcpUdp.annotations, [`${aws}-ssl-cert`]: 'arn' } },
  ],
  ['LB-13', 'azure', '2020-07', dns, 'TCP:53 UDP:53'],
  [
    'LB-13',
    'azure',
    '2020-07',
    '53/TCP',
    'TCP:53 UDP:53',
    { annotations: { 'service.beta.kubernetes.io/azure-load-balancer-mixed-protocols': 'true' } },
  ],
  ['LB-13', 'azure', 'today', `${dns} 443/TCP`, 'TCP:53 UDP:53 TCP:443'],
  ['LB-13', 'azure', 'today', '9000/SCTP', protocol],
  ['LB-13', 'azure', 'today', '9000/SCTP', 'SCTP:9000', { annotations: azureInternal }],
  [
    'LB-13',
    'azure',
    'today',
    dns,
    'All:IPv4',
    {
      annotations: {
        ...azureInternal,
        'service.beta.kubernetes.io/azure-load-balancer-enable-high-availability-ports': 'true',
      },
    },
  ],
  ['LB-13', 'azure', 'today', '80/TCP', 'TCP:80 TCP:80:IPv6', { spec: { ipFamilies: ['IPv4', 'IPv6'] } }],
  ['LB-14', 'digitalocean', '2020-07', '80/TCP 443/TCP', 'TCP:80 TCP:443'],
  ['LB-14', 'digitalocean', '2020-07', two, mixed],
  ['LB-14', 'digitalocean', '2020-07', '53/UDP', protocol],
  ['LB-14', 'digitalocean', 'today', dns, 'TCP:53 UDP:53'],
  ['LB-14', 'digitalocean', 'today', '53/UDP', 'refused NoHealthCheckPort'],
  ['LB-15', 'gce', '2020-07', '80/TCP 443/TCP', 'TCP'],
  ['LB-15', 'gce', '2020-07', two, mixed],
  ['LB-15', 'gce', 'today', two, mixed],
  ['LB-15', 'gce', 'today', dns, 'IPv4', gceClass],
  ['LB-15', 'gce', 'today', dns, 'TCP UDP', { product: 'l4-split' }],
  ['LB-15', 'gce', 'today', dns, mixed, { product: 'l4-split', spec: { ipFamilies: ['IPv6'] } }],
  ['LB-16', 'ibm-classic', '2020-07', dns, 'TCP:53 UDP:53'],
  ['LB-16', 'ibm-classic', 'today', '9000/SCTP', protocol],
  ['LB-17', 'ibm-vpc', '2020-07', '80/TCP', 'TCP:80'],
  ['LB-17', 'ibm-vpc', '2020-07', '53/UDP', protocol],
  ['LB-17', 'ibm-vpc', '2020-07', two, mixed],
  ['LB-17', 'ibm-vpc', 'today', dns, 'TCP:53 UDP:53', ibmNlb],
  ['LB-18', 'openstack', '2020-07', dns, samePort, { product: 'octavia-4' }],
  ['LB-18', 'openstack', '2020-07', two, 'TCP:80 UDP:81', { product: 'octavia-4' }],
  ['LB-18', 'openstack', '2020-07', dns, 'TCP:53 UDP:53'],
  ['LB-18', 'openstack', 'today', '53/UDP 9000/SCTP', 'UDP:53 SCTP:9000'],
  [
    'LB-18',
    'openstack',
    'today',
    dns,
    'refused UnsupportedTls',
    { annotations: { 'loadbalancer.openstack.org/default-tls-container-ref': 'c' } },
  ],
  [
    'LB-19',
    'oracle',
    '2020-07',
    '80/TCP',
    'TCP:80',
    { annotations: { 'service.beta.kubernetes.io/oci-load-balancer-backend-protocol': 'HTTP' } },
  ],
  ['LB-19', 'oracle', '2020-07', '53/UDP', protocol],
  ['LB-19', 'oracle', 'today', dns, mixed],
  ['LB-19', 'oracle', 'today', dns, 'TCP_UDP:53', ociNlb],
  ['LB-20', 'tencent', '2020-07', two, 'TCP:80 UDP:81'],
  ['LB-20', 'tencent', '2020-07', dns, samePort],
  ['LB-20', 'tencent', 'today', dns, 'TCP:53 UDP:53'],
  ['LB-20', 'tencent', 'today', '9000/SCTP', protocol],
];

for (const [id, cloud, era, ports, want, given] of cases) {
  const how = given === undefined ? '' : ` with ${JSON.stringify(given)}`;
  test(`${id} ${cloud} (${era}) ${ports}${how}: ${want}`, () => {
    assert.equal(result(planned(cloud, era, ports, given)), want);
  });
}

test('LB-12 one listener for both protocols requires one node port', () => {
  const base = serviceWith(dns, tcpUdp);
  const ports = (base.spec.ports ?? []).map((port, index) => ({ ...port, nodePort: 30_000 + index }));
  assert.equal(result(planned('aws', 'today', dns, { ...tcpUdp, spec: { ports } })), 'refused NodePortMismatch');
});

test('LB-15 load balancers can share only a static address', () => {
  const at = (isStatic: boolean): string =>
    result(
      planned('gce', '2020-07', '53/UDP', {
        spec: { loadBalancerIP: '192.0.2.1' },
        account: { units: { public: 1, internal: 0 }, addresses: [{ address: '192.0.2.1', isStatic }] },
      }),
    );
  assert.equal(at(false), 'refused AddressNotStatic');
  assert.equal(at(true), 'UDP');
});

test('LB-17 IBM VPC requires node ports', () => {
  const spec = { allocateLoadBalancerNodePorts: false, ports: [{ port: 80, protocol: 'TCP' as const }] };
  assert.equal(result(planned('ibm-vpc', 'today', '80/TCP', { spec })), 'refused NodePortRequired');
});

test('LB-11 internal by annotation, and listeners by protocol', () => {
  const prefix = 'service.beta.kubernetes.io/alibaba-cloud-loadbalancer';
  const annotations = { [`${prefix}-address-type`]: 'intranet', [`${prefix}-protocol-port`]: 'https:443,udp:53' };
  const made = planned('alibaba', '2020-07', '443/TCP 53/UDP', { annotations });
  assert.equal(made.isInternal, true);
  const listeners = made.resources
    .filter(({ type }) => type === 'Listener')
    .map(({ settings }) => settings['protocol']);
  assert.deepEqual(listeners, ['HTTPS', 'UDP']);
});

test('recommends one Service per protocol only if all protocols are supported', () => {
  const refusalOf = (cloud: string): string | undefined => planned(cloud, 'today', dns).refusal?.message;
  assert.match(refusalOf('gce') ?? '', /: create one Service per protocol/);
  assert.match(refusalOf('oracle') ?? '', /: it supports only TCP, use another kind for the rest/);
});

test('refuses a Service over the quota; the refusal is not final', () => {
  const ports = Array.from({ length: 11 }, (_, index) => `${index + 1}/TCP`).join(' ');
  const refused = planned('ibm-vpc', 'today', ports);
  assert.equal(refused.refusal?.reason, 'QuotaExceeded');
  assert.equal(refused.refusal?.isFinal, false);
});

test('warns about an annotation without effect', () => {
  const annotations = { 'service.beta.kubernetes.io/azure-load-balancer-mixed-protocols': 'true' };
  assert.deepEqual(
    planned('azure', 'today', '53/TCP', { annotations }).events.map(({ reason }) => reason),
    ['LoadBalancerSettingIgnored', 'LoadBalancerCostChange'],
  );
});

test('every cloud has the selected product in both eras', () => {
  for (const cloud of clouds)
    for (const era of ['2020-07', 'today'] as const)
      assert.equal(planned(cloud.name, era, '80/TCP').refusal, undefined);
});

test('uses the source ranges of the field, or those of the annotation if it is empty', () => {
  const annotations = { 'service.beta.kubernetes.io/load-balancer-source-ranges': '198.51.100.0/24, 203.0.113.0/24' };
  const sources = (spec: ServiceChanges['spec'] = {}): string | undefined =>
    planned('azure', 'today', '80/TCP', { annotations, spec }).resources.find(
      ({ settings }) => settings['sources'] !== undefined,
    )?.settings['sources'];
  assert.equal(sources(), '198.51.100.0/24 203.0.113.0/24');
  assert.equal(sources({ loadBalancerSourceRanges: [] }), '198.51.100.0/24 203.0.113.0/24');
  assert.equal(sources({ loadBalancerSourceRanges: ['192.0.2.0/24'] }), '192.0.2.0/24');
});
