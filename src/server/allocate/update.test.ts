import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { Cluster, dryRun, messageOf, options } from './testing/cluster.ts';

const cidrs: readonly string[] = ['10.0.0.0/24', 'fd00::/112'];
const http = { name: 'http', port: 80 };
const https = { name: 'https', port: 443 };
const local: ServiceSpec = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [http] };

interface UpdateCase {
  readonly name: string;
  readonly old: ServiceSpec;
  /** The update of the client, which may omit allocated values. */
  readonly given: ServiceSpec;
  readonly want: ServiceSpec;
  readonly claims: readonly string[];
}

const updated: readonly UpdateCase[] = [
  {
    name: 'the first manifest, unchanged',
    old: { type: 'NodePort', ports: [http, https] },
    given: { type: 'NodePort', ports: [http, https] },
    want: {
      clusterIP: '10.0.0.17',
      ports: [
        { ...http, nodePort: 30016 },
        { ...https, nodePort: 30017 },
      ],
    },
    claims: ['10.0.0.17', '30016', '30017'],
  },
  {
    name: 'ClusterIP to NodePort',
    old: { type: 'ClusterIP', ports: [http] },
    given: { type: 'NodePort', ports: [http] },
    want: { clusterIP: '10.0.0.17', ports: [{ ...http, nodePort: 30016 }] },
    claims: ['10.0.0.17', '30016'],
  },
  {
    name: 'ClusterIP to a load balancer without node ports',
    old: { type: 'ClusterIP', ports: [http] },
    given: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [http] },
    want: { ports: [http] },
    claims: ['10.0.0.17'],
  },
  {
    name: 'NodePort to LoadBalancer',
    old: { type: 'NodePort', ports: [http] },
    given: { type: 'LoadBalancer', ports: [http] },
    want: { ports: [{ ...http, nodePort: 30016 }] },
    claims: ['10.0.0.17', '30016'],
  },
  {
    name: 'NodePort to ClusterIP',
    old: { type: 'NodePort', ports: [http, https] },
    given: { type: 'ClusterIP', ports: [http, https] },
    want: { clusterIP: '10.0.0.17', ports: [http, https] },
    claims: ['10.0.0.17'],
  },
  {
    name: 'a load balancer that releases its node ports',
    old: { type: 'LoadBalancer', ports: [http, { ...https, nodePort: 30005 }] },
    given: {
      type: 'LoadBalancer',
      allocateLoadBalancerNodePorts: false,
      ports: [http, { ...https, nodePort: 30005 }],
    },
    want: { ports: [http, { ...https, nodePort: 30005 }] },
    claims: ['10.0.0.17', '30005'],
  },
  {
    name: 'another node port',
    old: { type: 'NodePort', ports: [http] },
    given: { type: 'NodePort', ports: [{ ...http, nodePort: 30001 }] },
    want: { ports: [{ ...http, nodePort: 30001 }] },
    claims: ['10.0.0.17', '30001'],
  },
  {
    name: 'node ports are swapped',
    old: {
      type: 'NodePort',
      ports: [
        { ...http, nodePort: 30001 },
        { ...https, nodePort: 30002 },
      ],
    },
    given: {
      type: 'NodePort',
      ports: [
        { ...http, nodePort: 30002 },
        { ...https, nodePort: 30001 },
      ],
    },
    want: {
      ports: [
        { ...http, nodePort: 30002 },
        { ...https, nodePort: 30001 },
      ],
    },
    claims: ['10.0.0.17', '30001', '30002'],
  },
  {
    name: 'a removed port',
    old: { type: 'NodePort', ports: [http, https] },
    given: { type: 'NodePort', ports: [https] },
    want: { ports: [{ ...https, nodePort: 30017 }] },
    claims: ['10.0.0.17', '30017'],
  },
  {
    name: 'a renamed port, which loses its node port',
    old: { type: 'NodePort', ports: [http] },
    given: { type: 'NodePort', ports: [{ name: 'web', port: 80 }] },
    want: { ports: [{ name: 'web', port: 80, nodePort: 30017 }] },
    claims: ['10.0.0.17', '30017'],
  },
  {
    name: 'a new node port for two ports of different protocols',
    old: { type: 'NodePort', ports: [http] },
    given: {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80, protocol: 'TCP', nodePort: 30001 },
        { name: 'b', port: 81, protocol: 'UDP', nodePort: 30001 },
      ],
    },
    want: {
      ports: [
        { name: 'a', port: 80, protocol: 'TCP', nodePort: 30001 },
        { name: 'b', port: 81, protocol: 'UDP', nodePort: 30001 },
      ],
    },
    claims: ['10.0.0.17', '30001'],
  },
  {
    name: 'one of two protocols that share a node port is removed',
    old: {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 53, protocol: 'TCP' },
        { name: 'b', port: 53, protocol: 'UDP' },
      ],
    },
    given: { type: 'NodePort', ports: [{ name: 'b', port: 53, protocol: 'UDP' }] },
    want: { ports: [{ name: 'b', port: 53, protocol: 'UDP', nodePort: 30016 }] },
    claims: ['10.0.0.17', '30016'],
  },
  {
    name: 'a health check port is added',
    old: { type: 'LoadBalancer', ports: [http] },
    given: local,
    want: { healthCheckNodePort: 30017, ports: [{ ...http, nodePort: 30016 }] },
    claims: ['10.0.0.17', '30016', '30017'],
  },
  {
    name: 'a health check port is kept',
    old: local,
    given: local,
    want: { healthCheckNodePort: 30017 },
    claims: ['10.0.0.17', '30016', '30017'],
  },
  {
    name: 'a health check port is released with the policy',
    old: local,
    given: { ...local, externalTrafficPolicy: 'Cluster' },
    want: { ports: [{ ...http, nodePort: 30016 }] },
    claims: ['10.0.0.17', '30016'],
  },
  {
    name: 'a health check port is released with the type',
    old: local,
    given: { type: 'ClusterIP', ports: [http] },
    want: { clusterIP: '10.0.0.17' },
    claims: ['10.0.0.17'],
  },
  {
    name: 'single to dual',
    old: { type: 'ClusterIP', ports: [http] },
    given: { type: 'ClusterIP', ports: [http], ipFamilyPolicy: 'PreferDualStack' },
    want: { clusterIP: '10.0.0.17', clusterIPs: ['10.0.0.17', 'fd00::101'], ipFamilies: ['IPv4', 'IPv6'] },
    claims: ['10.0.0.17', 'fd00::101'],
  },
  {
    name: 'single to dual, with a requested address',
    old: { type: 'ClusterIP', ports: [http] },
    given: {
      type: 'ClusterIP',
      ports: [http],
      ipFamilyPolicy: 'RequireDualStack',
      clusterIP: '10.0.0.17',
      clusterIPs: ['10.0.0.17', 'fd00::7'],
    },
    want: { clusterIPs: ['10.0.0.17', 'fd00::7'], ipFamilies: ['IPv4', 'IPv6'] },
    claims: ['10.0.0.17', 'fd00::7'],
  },
  {
    name: 'dual to single',
    old: { type: 'ClusterIP', ports: [http], ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
    given: { type: 'ClusterIP', ports: [http], ipFamilyPolicy: 'SingleStack' },
    want: { clusterIP: 'fd00::101', clusterIPs: ['fd00::101'], ipFamilies: ['IPv6'] },
    claims: ['fd00::101'],
  },
  {
    name: 'to ExternalName',
    old: { type: 'NodePort', ports: [http], ipFamilyPolicy: 'RequireDualStack' },
    given: { type: 'ExternalName', externalName: 'example.org' },
    want: {},
    claims: [],
  },
  {
    name: 'from ExternalName',
    old: { type: 'ExternalName', externalName: 'example.org' },
    given: { type: 'NodePort', ports: [http], ipFamilyPolicy: 'RequireDualStack' },
    want: { clusterIPs: ['10.0.0.17', 'fd00::101'], ports: [{ ...http, nodePort: 30016 }] },
    claims: ['10.0.0.17', 'fd00::101', '30016'],
  },
  {
    name: 'from an ExternalName with a node port that was never allocated',
    old: { type: 'ExternalName', externalName: 'example.org', ports: [{ ...http, nodePort: 30001 }] },
    given: { type: 'NodePort', ports: [{ ...http, nodePort: 30001 }] },
    want: { ports: [{ ...http, nodePort: 30001 }] },
    claims: ['10.0.0.17', '30001'],
  },
  {
    name: 'headless stays headless',
    old: { type: 'ClusterIP', clusterIP: 'None' },
    given: { type: 'ClusterIP', clusterIP: 'None', ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] },
    want: { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv6'] },
    claims: [],
  },
];

for (const { name, old, given, want, claims } of updated) {
  test(`update: ${name}`, async () => {
    await using cluster = await Cluster.open(cidrs);
    const before = await cluster.create('web', old);
    const held = await cluster.claims();

    const rehearsal = cluster.allocator.planUpdate({ ...before, spec: given }, before, dryRun);
    assert.deepEqual(rehearsal.writes, []);
    assert.deepEqual(await cluster.claims(), held);

    const service = await cluster.update(before, given);
    for (const [field, value] of Object.entries(want)) {
      assert.deepEqual(service.spec[field as keyof ServiceSpec], value, field);
    }
    assert.deepEqual(await cluster.claims(), claims);
    await cluster.delete(service);
    assert.deepEqual(await cluster.claims(), []);
    assert.equal(cluster.allocator.metrics().nodePorts.allocated, 0);
  });
}

const refused: readonly { readonly name: string; readonly given: ServiceSpec; readonly want: string }[] = [
  {
    name: 'one node port twice for one protocol',
    given: {
      type: 'NodePort',
      ports: [
        { name: 'a', port: 80, protocol: 'TCP', nodePort: 30001 },
        { name: 'b', port: 81, protocol: 'TCP', nodePort: 30001 },
      ],
    },
    want: '500 - duplicate nodePort: {TCP 30001}',
  },
  {
    name: 'a node port of another Service',
    given: { type: 'NodePort', ports: [http, { ...https, nodePort: 30009 }] },
    want: '422 Invalid Service "web" is invalid: spec.ports[1].nodePort: Invalid value: 30009: provided port is already allocated',
  },
  {
    name: 'a node port out of range',
    given: { type: 'NodePort', ports: [{ ...http, nodePort: 443 }] },
    want: '422 Invalid Service "web" is invalid: spec.ports[0].nodePort: Invalid value: 443: provided port is not in the valid range. The range of valid ports is 30000-30039',
  },
  {
    name: 'a secondary address of another Service',
    given: {
      type: 'ClusterIP',
      clusterIP: '10.0.0.18',
      clusterIPs: ['10.0.0.18', 'fd00::9'],
      ipFamilyPolicy: 'RequireDualStack',
    },
    want: '422 Invalid Service "web" is invalid: spec.clusterIPs: Invalid value: ["10.0.0.18","fd00::9"]: failed to allocate IP fd00::9: provided IP is already allocated',
  },
  {
    name: 'its own node port as health check port',
    given: { ...local, healthCheckNodePort: 30016 },
    want: '500 InternalError Internal error occurred: failed to allocate requested HealthCheck NodePort 30016: provided port is already allocated',
  },
];

for (const { name, given, want } of refused) {
  test(`update rejects ${name} and changes nothing`, async () => {
    await using cluster = await Cluster.open(cidrs);
    const other: ServiceSpec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30009 }] };
    await cluster.create('other', {
      ...other,
      ipFamilyPolicy: 'RequireDualStack',
      clusterIP: '10.0.0.17',
      clusterIPs: ['10.0.0.17', 'fd00::9'],
    });
    const old = await cluster.create('web', { type: 'NodePort', ports: [http] });
    assert.equal(
      messageOf(() => cluster.allocator.planUpdate({ ...old, spec: given }, old, options)),
      want,
    );
    const { clusterIps, nodePorts } = cluster.allocator.metrics();
    assert.deepEqual([...clusterIps.map((pool) => pool.allocated), nodePorts.allocated], [2, 1, 2]);
  });
}
