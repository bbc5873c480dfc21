import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { Cluster, dryRun, messageOf, options, serviceWith } from './testing/cluster.ts';

const ports = [{ port: 80 }];
const dual: readonly string[] = ['10.0.0.0/24', 'fd00::/112'];

const created: readonly {
  readonly name: string;
  readonly cidrs?: readonly string[];
  readonly given: ServiceSpec;
  readonly want: ServiceSpec;
  readonly claims: readonly string[];
}[] = [
  {
    name: 'an address from the dynamic band',
    given: { type: 'ClusterIP', ports },
    want: { clusterIP: '10.0.0.17', clusterIPs: ['10.0.0.17'] },
    claims: ['10.0.0.17'],
  },
  {
    name: 'the requested address',
    given: { type: 'ClusterIP', ports, clusterIP: '10.0.0.5' },
    want: { clusterIP: '10.0.0.5', clusterIPs: ['10.0.0.5'] },
    claims: ['10.0.0.5'],
  },
  {
    name: 'the address as written, with a canonical claim',
    given: { type: 'ClusterIP', ports, clusterIP: '10.0.00.5' },
    want: { clusterIP: '10.0.00.5', clusterIPs: ['10.0.00.5'] },
    claims: ['10.0.0.5'],
  },
  {
    name: 'a loopback address',
    cidrs: ['127.64.0.0/16'],
    given: { type: 'ClusterIP', ports },
    want: { clusterIP: '127.64.1.1', clusterIPs: ['127.64.1.1'] },
    claims: ['127.64.1.1'],
  },
  {
    name: 'two addresses in the order of the families',
    cidrs: dual,
    given: { type: 'ClusterIP', ports, ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
    want: { clusterIP: 'fd00::101', clusterIPs: ['fd00::101', '10.0.0.17'], ipFamilies: ['IPv6', 'IPv4'] },
    claims: ['10.0.0.17', 'fd00::101'],
  },
  {
    name: 'one requested and one chosen address',
    cidrs: dual,
    given: { type: 'ClusterIP', ports, ipFamilyPolicy: 'PreferDualStack', clusterIP: 'FD00::9' },
    want: { clusterIP: 'FD00::9', clusterIPs: ['FD00::9', '10.0.0.17'] },
    claims: ['10.0.0.17', 'fd00::9'],
  },
  {
    name: 'nothing when headless',
    given: { type: 'ClusterIP', ports, clusterIP: 'None' },
    want: { clusterIP: 'None', clusterIPs: ['None'] },
    claims: [],
  },
  { name: 'nothing as an ExternalName', given: { type: 'ExternalName', ports }, want: { ports }, claims: [] },
  {
    name: 'node ports',
    given: { type: 'NodePort', ports: [{ port: 80 }, { port: 443, nodePort: 30003 }, { port: 8080 }] },
    want: {
      ports: [
        { port: 80, nodePort: 30016 },
        { port: 443, nodePort: 30003 },
        { port: 8080, nodePort: 30017 },
      ],
    },
    claims: ['10.0.0.17', '30003', '30016', '30017'],
  },
  {
    name: 'one node port for two protocols of a port',
    given: {
      type: 'NodePort',
      ports: [
        { port: 53, protocol: 'TCP' },
        { port: 53, protocol: 'UDP' },
      ],
    },
    want: {
      ports: [
        { port: 53, protocol: 'TCP', nodePort: 30016 },
        { port: 53, protocol: 'UDP', nodePort: 30016 },
      ],
    },
    claims: ['10.0.0.17', '30016'],
  },
  {
    name: 'the node port that a later protocol of the port requests',
    given: {
      type: 'NodePort',
      ports: [
        { port: 53, protocol: 'TCP' },
        { port: 53, protocol: 'UDP', nodePort: 30005 },
        { port: 53, protocol: 'SCTP', nodePort: 30006 },
      ],
    },
    want: {
      ports: [
        { port: 53, protocol: 'TCP', nodePort: 30005 },
        { port: 53, protocol: 'UDP', nodePort: 30005 },
        { port: 53, protocol: 'SCTP', nodePort: 30006 },
      ],
    },
    claims: ['10.0.0.17', '30005', '30006'],
  },
  {
    name: 'only the requested node ports, when a load balancer needs none',
    given: {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [{ port: 80 }, { port: 443, nodePort: 30001 }],
    },
    want: { ports: [{ port: 80 }, { port: 443, nodePort: 30001 }] },
    claims: ['10.0.0.17', '30001'],
  },
  {
    name: 'a health check port',
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports },
    want: { ports: [{ port: 80, nodePort: 30016 }], healthCheckNodePort: 30017 },
    claims: ['10.0.0.17', '30016', '30017'],
  },
  {
    name: 'the requested health check port',
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30001, ports },
    want: { ports: [{ port: 80, nodePort: 30016 }], healthCheckNodePort: 30001 },
    claims: ['10.0.0.17', '30001', '30016'],
  },
];

for (const { name, cidrs, given, want, claims } of created) {
  test(`a new Service gets ${name} and its deletion releases everything`, async () => {
    await using cluster = await Cluster.open(cidrs);
    const service = await cluster.create('web', given);
    for (const [field, value] of Object.entries(want)) {
      assert.deepEqual(service.spec[field as keyof ServiceSpec], value, field);
    }
    assert.deepEqual(await cluster.claims(), claims);
    await cluster.delete(service);
    assert.deepEqual(await cluster.claims(), []);
    assert.deepEqual(
      [...cluster.allocator.metrics().clusterIps, cluster.allocator.metrics().nodePorts].map((pool) => pool.allocated),
      (cidrs ?? ['']).map(() => 0).concat(0),
    );
  });
}

const invalid = '422 Invalid Service "web" is invalid:';
const internal = '500 InternalError Internal error occurred:';
const outOfRange = 'provided port is not in the valid range. The range of valid ports is 30000-30039';

const refused: readonly {
  readonly name: string;
  readonly cidrs?: readonly string[];
  readonly given: ServiceSpec;
  readonly want: string;
  /** The error of a dry run; `''`: it succeeds. */
  readonly dry?: string;
}[] = [
  {
    name: 'an address outside the ranges',
    given: { clusterIP: '1.2.3.4' },
    want: `${invalid} spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided network does not match the current range`,
    dry: `${invalid} spec.clusterIPs: Invalid value: ["1.2.3.4"]: failed to allocate IP 1.2.3.4: the provided IP (1.2.3.4) is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
  },
  {
    name: 'the network address',
    given: { clusterIP: '10.0.0.0' },
    want: `${invalid} spec.clusterIPs: Invalid value: ["10.0.0.0"]: failed to allocate IP 10.0.0.0: the provided network does not match the current range`,
    dry: `${invalid} spec.clusterIPs: Invalid value: ["10.0.0.0"]: failed to allocate IP 10.0.0.0: the provided IP (10.0.0.0) is not in the valid range. The range of valid IPs is 10.0.0.0/24`,
  },
  {
    name: 'an address in use',
    given: { clusterIP: '10.0.0.99' },
    want: `${invalid} spec.clusterIPs: Invalid value: ["10.0.0.99"]: failed to allocate IP 10.0.0.99: provided IP is already allocated`,
    dry: '',
  },
  {
    name: 'an address in use, and a second one to be chosen',
    cidrs: dual,
    given: { clusterIP: '10.0.0.99', ipFamilyPolicy: 'RequireDualStack' },
    want: `${invalid} spec.clusterIPs: Invalid value: ["10.0.0.99",""]: failed to allocate IP 10.0.0.99: provided IP is already allocated`,
    dry: '',
  },
  {
    name: 'a family that the cluster lacks, before anything is allocated',
    given: { ipFamilies: ['IPv6'], type: 'NodePort', ports: [{ port: 80, nodePort: 1 }] },
    want: `${invalid} spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster`,
  },
  {
    name: 'a node port out of range',
    given: { type: 'NodePort', ports: [{ port: 80 }, { port: 81, nodePort: 80 }] },
    want: `${invalid} spec.ports[1].nodePort: Invalid value: 80: ${outOfRange}`,
  },
  {
    name: 'a node port in use',
    given: { type: 'NodePort', ports: [{ port: 80, nodePort: 30009 }] },
    want: `${invalid} spec.ports[0].nodePort: Invalid value: 30009: provided port is already allocated`,
  },
  {
    name: 'the same node port for two ports, whatever the protocols',
    given: {
      type: 'NodePort',
      ports: [
        { port: 80, protocol: 'TCP', nodePort: 30001 },
        { port: 81, protocol: 'UDP', nodePort: 30001 },
      ],
    },
    want: `${invalid} spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated`,
  },
  {
    name: 'a health check port out of range',
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 100, ports },
    want: `${internal} failed to allocate requested HealthCheck NodePort 100: ${outOfRange}`,
  },
  {
    name: 'a health check port in use',
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 30009, ports },
    want: `${internal} failed to allocate requested HealthCheck NodePort 30009: provided port is already allocated`,
  },
];

for (const { name, cidrs, given, want, dry } of refused) {
  test(`rejects ${name} in a new Service and allocates nothing`, async () => {
    await using cluster = await Cluster.open(cidrs);
    const { allocator } = cluster;
    await cluster.create('other', {
      type: 'NodePort',
      clusterIP: '10.0.0.99',
      ports: [{ port: 80, nodePort: 30009 }],
    });
    const before = allocator.metrics();
    const web = serviceWith('web', { type: 'ClusterIP', ports, ...given });
    assert.equal(
      messageOf(() => allocator.planCreate(web, options)),
      want,
    );
    assert.equal(
      messageOf(() => allocator.planCreate(web, dryRun)),
      dry === '' ? 'nothing was thrown' : (dry ?? want),
    );
    const after = allocator.metrics();
    assert.deepEqual(
      after.clusterIps.map((pool) => pool.allocated),
      before.clusterIps.map((pool) => pool.allocated),
    );
    assert.equal(after.nodePorts.allocated, before.nodePorts.allocated);
  });
}

test('returns an internal error when the range is full', async () => {
  await using cluster = await Cluster.open(['10.0.0.0/30']);
  const create = (): unknown => cluster.allocator.planCreate(serviceWith('web', { type: 'ClusterIP', ports }), options);
  create();
  create();
  assert.equal(messageOf(create), `${internal} failed to allocate a serviceIP: range is full`);
  assert.deepEqual(cluster.allocator.metrics().clusterIps[0], {
    cidr: '10.0.0.0/30',
    allocated: 2,
    available: 0,
    allocations: { static: 0, dynamic: 2 },
    errors: { static: 0, dynamic: 1 },
  });
});

test('returns an internal error when all node ports are in use, and releases the address', async () => {
  await using cluster = await Cluster.open();
  const many = Array.from({ length: 40 }, (_, index) => ({ name: `p${index}`, port: index + 1 }));
  await cluster.create('many', { type: 'NodePort', ports: many });
  const plan = (spec: ServiceSpec) => (): unknown => cluster.allocator.planCreate(serviceWith('web', spec), options);
  assert.equal(
    messageOf(plan({ type: 'NodePort', ports })),
    `${internal} failed to allocate a nodePort: range is full`,
  );
  assert.equal(
    messageOf(
      plan({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, externalTrafficPolicy: 'Local', ports }),
    ),
    `${internal} failed to allocate a HealthCheck NodePort 0: range is full`,
  );
  assert.equal(cluster.allocator.metrics().clusterIps[0]?.allocated, 1);
});

test('a dry run allocates nothing and returns free values', async () => {
  await using cluster = await Cluster.open(dual);
  const spec: ServiceSpec = {
    type: 'LoadBalancer',
    externalTrafficPolicy: 'Local',
    ipFamilyPolicy: 'RequireDualStack',
    ports: [{ port: 80 }, { port: 443 }],
  };
  const plan = cluster.allocator.planCreate(serviceWith('web', spec), dryRun);
  assert.deepEqual(plan.writes, []);
  assert.deepEqual(plan.service.spec, {
    ...spec,
    ipFamilies: ['IPv4', 'IPv6'],
    clusterIP: '10.0.0.0',
    clusterIPs: ['10.0.0.0', 'fd00::'],
    ports: [
      { port: 80, nodePort: 32769 },
      { port: 443, nodePort: 32770 },
    ],
    healthCheckNodePort: 32771,
  });
  plan.settle();
  assert.equal(cluster.allocator.metrics().nodePorts.allocated, 0);
});

test('claims name their Service', async () => {
  await using cluster = await Cluster.open();
  await cluster.create('web', { type: 'NodePort', ports });
  const { entries } = await cluster.store.range('/registry/');
  assert.deepEqual(
    entries.map(({ key, value }) => [key, value]),
    [
      [
        '/registry/networking.k8s.io/ipaddresses/10.0.0.17',
        '{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"10.0.0.17",' +
          '"uid":"c0ffee00-0000-4000-8000-000000000000","creationTimestamp":"2026-01-02T03:04:05Z",' +
          '"labels":{"ipaddress.kubernetes.io/ip-family":"IPv4",' +
          '"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},' +
          '"spec":{"parentRef":{"resource":"services","namespace":"shop","name":"web"}}}',
      ],
      ['/registry/nodeports/30016', '{"namespace":"shop","name":"web"}'],
    ],
  );
});
