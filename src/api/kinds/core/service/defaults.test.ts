import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { applyDefaults } from './defaults.ts';
import type { Service } from './schema.ts';
import type { Written } from './testing/service.ts';
import { written } from './testing/service.ts';

const common = { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' };
const ports = [{ port: 80, protocol: 'TCP', targetPort: 80 }];

const rows: readonly { name: string; given: Written; want: object }[] = [
  { name: 'a port only', given: {}, want: { ...common, ports } },
  {
    name: 'affinity settings without affinity',
    given: { sessionAffinity: 'None', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
    want: { ...common, ports },
  },
  {
    name: 'affinity without settings',
    given: { sessionAffinity: 'ClientIP' },
    want: {
      ...common,
      ports,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } },
    },
  },
  {
    name: 'affinity with settings',
    given: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
    want: {
      ...common,
      ports,
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } },
    },
  },
  {
    name: 'a target port that is zero or empty',
    given: {
      ports: [
        { port: 80, targetPort: 0 },
        { port: 81, targetPort: '' },
        { port: 82, targetPort: 'http' },
      ],
    },
    want: {
      ...common,
      ports: [
        { port: 80, protocol: 'TCP', targetPort: 80 },
        { port: 81, protocol: 'TCP', targetPort: 81 },
        { port: 82, protocol: 'TCP', targetPort: 'http' },
      ],
    },
  },
  {
    name: 'external IPs without a type',
    given: { externalIPs: ['192.0.2.1'] },
    want: { ...common, ports, externalIPs: ['192.0.2.1'], externalTrafficPolicy: 'Cluster' },
  },
  {
    name: 'a node port',
    given: { type: 'NodePort' },
    want: { ...common, ports, type: 'NodePort', externalTrafficPolicy: 'Cluster' },
  },
  {
    name: 'a load balancer',
    given: { type: 'LoadBalancer' },
    want: {
      ...common,
      ports,
      type: 'LoadBalancer',
      externalTrafficPolicy: 'Cluster',
      allocateLoadBalancerNodePorts: true,
    },
  },
  {
    name: 'EXT-7 an external name without ports',
    given: { type: 'ExternalName', externalName: 'db.example.org', ports: [] },
    want: { sessionAffinity: 'None', type: 'ExternalName', externalName: 'db.example.org', ports: [] },
  },
];
for (const { name, given, want } of rows) {
  test(`defaults of ${name}`, () => assert.deepEqual(written(given).spec, want));
}

test('the default ipMode of a load balancer address is VIP', () => {
  const ingress = [{ ip: '192.0.2.1' }, { hostname: 'a.example.org' }, { ip: '192.0.2.2', ipMode: 'Proxy' as const }];
  const { status } = applyDefaults({ ...written({ type: 'LoadBalancer' }), status: { loadBalancer: { ingress } } });
  assert.deepEqual(status.loadBalancer.ingress, [{ ip: '192.0.2.1', ipMode: 'VIP' }, ingress[1], ingress[2]]);
});

test('defaulting is idempotent and does not modify its input', () => {
  const spec = fc.record(
    {
      type: fc.constantFrom('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName'),
      sessionAffinity: fc.constantFrom('None', 'ClientIP'),
      externalIPs: fc.array(fc.ipV4()),
      ports: fc.array(
        fc.record(
          { port: fc.nat(65535), targetPort: fc.oneof(fc.nat(3), fc.constant('http')) },
          { noNullPrototype: true },
        ),
      ),
    },
    { requiredKeys: [], noNullPrototype: true },
  );
  fc.assert(
    fc.property(spec, (given) => {
      const object = { metadata: {}, spec: given, status: { loadBalancer: {} } } as Service;
      const before = structuredClone(object);
      const once = applyDefaults(object);
      assert.deepEqual(object, before);
      assert.deepEqual(applyDefaults(once), once);
    }),
  );
});
