import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hasClusterIp, isExternallyAccessible, isExternalName, isHeadless, protocolOf } from './facts.ts';
import type { ServiceSpec } from './schema.ts';

const cases: readonly { name: string; spec: ServiceSpec; facts: readonly string[] }[] = [
  { name: 'a cluster IP', spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'] }, facts: ['hasClusterIp'] },
  { name: 'a cluster IP from before the list existed', spec: { clusterIP: '10.0.0.1' }, facts: ['hasClusterIp'] },
  {
    name: 'cluster IPs of two families',
    spec: { clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.0.0.1'] },
    facts: ['hasClusterIp'],
  },
  { name: 'a cluster IP that is not allocated yet', spec: {}, facts: [] },
  { name: 'no cluster IP by choice', spec: { clusterIP: 'None', clusterIPs: ['None'] }, facts: ['isHeadless'] },
  { name: 'no cluster IP by choice, without the list', spec: { clusterIP: 'None' }, facts: ['isHeadless'] },
  {
    name: 'no cluster IP by choice, with an empty list',
    spec: { clusterIP: 'None', clusterIPs: [] },
    facts: ['isHeadless'],
  },
  {
    name: 'None beside an address, which validation rejects',
    spec: { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] },
    facts: [],
  },
  { name: 'an alias', spec: { type: 'ExternalName', externalName: 'example.org' }, facts: ['isExternalName'] },
  {
    name: 'an alias with external IPs',
    spec: { type: 'ExternalName', externalIPs: ['192.0.2.1'] },
    facts: ['isExternalName'],
  },
  { name: 'node ports', spec: { type: 'NodePort' }, facts: ['isExternallyAccessible'] },
  { name: 'a load balancer', spec: { type: 'LoadBalancer' }, facts: ['isExternallyAccessible'] },
  { name: 'external IPs', spec: { type: 'ClusterIP', externalIPs: ['192.0.2.1'] }, facts: ['isExternallyAccessible'] },
  { name: 'an empty list of external IPs', spec: { type: 'ClusterIP', externalIPs: [] }, facts: [] },
];

for (const { name, spec, facts } of cases) {
  test(`a Service with ${name}: ${facts.join(', ') || 'none of these'}`, () => {
    const found = Object.entries({ isExternalName, isHeadless, hasClusterIp, isExternallyAccessible })
      .filter(([, holds]) => holds({ spec }))
      .map(([fact]) => fact);
    assert.deepEqual(found, facts);
  });
}

test('the protocol of a port is TCP unless it is set', () => {
  assert.deepEqual([protocolOf({}), protocolOf({ protocol: 'UDP' })], ['TCP', 'UDP']);
});
