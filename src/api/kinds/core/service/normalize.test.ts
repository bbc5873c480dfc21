import assert from 'node:assert/strict';
import { test } from 'node:test';

import { normalizeClusterIPs, patchAllocatedValues } from './normalize.ts';
import type { Service, ServiceSpec } from './schema.ts';

const serviceWith = (spec: ServiceSpec): Service => ({
  metadata: { name: 'web', namespace: 'shop' },
  spec,
  status: { loadBalancer: {} },
});

const stored: ServiceSpec = { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] };
const dual: ServiceSpec = { type: 'ClusterIP', clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] };

interface LinkedCase {
  readonly name: string;
  readonly old?: ServiceSpec;
  readonly given: ServiceSpec;
  readonly want: ServiceSpec;
}

const normalized: readonly LinkedCase[] = [
  { name: 'create: neither field', given: {}, want: {} },
  {
    name: 'create: the list follows the single field',
    given: { clusterIP: '10.0.0.9' },
    want: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] },
  },
  {
    name: 'create: the single field does not follow the list',
    given: { clusterIPs: ['10.0.0.9'] },
    want: { clusterIPs: ['10.0.0.9'] },
  },
  {
    name: 'create: fields that differ are left to validation',
    given: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.8'] },
    want: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.8'] },
  },
  { name: 'update: nothing changed', old: stored, given: stored, want: stored },
  {
    name: 'update: an omitted list is copied from the stored object',
    old: dual,
    given: { clusterIP: '10.0.0.1' },
    want: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
  },
  {
    name: 'update: the list follows a changed single field',
    old: dual,
    given: { ...dual, clusterIP: '10.0.0.9' },
    want: { ...dual, clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] },
  },
  {
    name: 'update: changes of both fields are kept',
    old: stored,
    given: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.8'] },
    want: { clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.8'] },
  },
  {
    name: 'update: a change of the list only is left to validation',
    old: stored,
    given: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.8'] },
    want: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.8'] },
  },
  {
    name: 'to ExternalName: the list is cleared with the single field',
    old: stored,
    given: { type: 'ExternalName', clusterIPs: ['10.0.0.1'] },
    want: { type: 'ExternalName' },
  },
  {
    name: 'to ExternalName: both cleared',
    old: stored,
    given: { type: 'ExternalName' },
    want: { type: 'ExternalName' },
  },
  {
    name: 'to ExternalName: cleared, but with another list',
    old: stored,
    given: { type: 'ExternalName', clusterIPs: ['10.0.0.8'] },
    want: { type: 'ExternalName', clusterIPs: ['10.0.0.8'] },
  },
  {
    name: 'to ExternalName: a changed clusterIP without the list is left to validation',
    old: stored,
    given: { type: 'ExternalName', clusterIP: '10.0.0.9' },
    want: { type: 'ExternalName', clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.9'] },
  },
];

for (const { name, old, given, want } of normalized) {
  test(`clusterIPs, ${name}`, () => {
    const before = old && serviceWith(old);
    assert.deepEqual(normalizeClusterIPs(serviceWith(given), before), serviceWith(want));
  });
}

const nodePorts: ServiceSpec = {
  type: 'NodePort',
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1'],
  ports: [
    { name: 'http', port: 80, nodePort: 30080 },
    { name: 'https', port: 443, nodePort: 30443 },
  ],
};
const { ports: _, ...withoutPorts } = nodePorts;
const balanced: ServiceSpec = {
  type: 'LoadBalancer',
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 30999,
  ports: [{ port: 80, nodePort: 30080 }],
};

const patched: readonly Required<LinkedCase>[] = [
  { name: 'restores missing addresses', old: dual, given: { type: 'ClusterIP' }, want: dual },
  {
    name: 'restores one missing address field',
    old: stored,
    given: { type: 'ClusterIP', clusterIP: '10.0.0.9' },
    want: { type: 'ClusterIP', clusterIP: '10.0.0.9', clusterIPs: ['10.0.0.1'] },
  },
  {
    name: 'an ExternalName gets no addresses',
    old: stored,
    given: { type: 'ExternalName' },
    want: { type: 'ExternalName' },
  },
  {
    name: 'copies nothing from an ExternalName',
    old: { type: 'ExternalName' },
    given: { type: 'ClusterIP' },
    want: { type: 'ClusterIP' },
  },
  {
    name: 'restores node ports by port name',
    old: nodePorts,
    given: {
      ...withoutPorts,
      ports: [
        { name: 'https', port: 8443 },
        { name: 'http', port: 80 },
      ],
    },
    want: {
      ...withoutPorts,
      ports: [
        { name: 'https', port: 8443, nodePort: 30443 },
        { name: 'http', port: 80, nodePort: 30080 },
      ],
    },
  },
  {
    name: 'a renamed port loses its node port',
    old: nodePorts,
    given: { ...withoutPorts, ports: [{ name: 'web', port: 80 }] },
    want: { ...withoutPorts, ports: [{ name: 'web', port: 80 }] },
  },
  {
    name: 'does not restore a node port that another port requests',
    old: nodePorts,
    given: {
      ...withoutPorts,
      ports: [
        { name: 'http', port: 80 },
        { name: 'new', port: 81, nodePort: 30080 },
      ],
    },
    want: {
      ...withoutPorts,
      ports: [
        { name: 'http', port: 80 },
        { name: 'new', port: 81, nodePort: 30080 },
      ],
    },
  },
  {
    name: 'restores node ports from NodePort to LoadBalancer',
    old: nodePorts,
    given: { ...withoutPorts, type: 'LoadBalancer', ports: [{ name: 'http', port: 80 }] },
    want: { ...withoutPorts, type: 'LoadBalancer', ports: [{ name: 'http', port: 80, nodePort: 30080 }] },
  },
  {
    name: 'does not restore node ports of a load balancer without them',
    old: balanced,
    given: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] },
    want: { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ port: 80 }] },
  },
  {
    name: 'does not restore node ports of a ClusterIP Service',
    old: nodePorts,
    given: { ...stored, ports: [{ name: 'http', port: 80 }] },
    want: { ...stored, ports: [{ name: 'http', port: 80 }] },
  },
  {
    name: 'restores the health check port',
    old: balanced,
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ port: 80 }] },
    want: balanced,
  },
  {
    name: 'does not restore a health check port that is not needed',
    old: balanced,
    given: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', ports: [{ port: 80 }] },
    want: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', ports: [{ port: 80, nodePort: 30080 }] },
  },
];

for (const { name, old, given, want } of patched) {
  test(`update: ${name}`, () => {
    assert.deepEqual(patchAllocatedValues(serviceWith(given), serviceWith(old)), serviceWith(want));
  });
}
