import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectMeta } from '../../../metadata.ts';
import { serviceKind } from './kind.ts';
import type { Service, ServicePort } from './schema.ts';
import type { Written } from './testing/service.ts';
import { contextWith, written } from './testing/service.ts';

const balancer = (...ingress: readonly object[]): Service => ({
  ...written({ type: 'LoadBalancer', externalIPs: ['192.0.2.9'] }),
  status: { loadBalancer: { ingress } },
});

const rows: readonly { name: string; given: Service; want: string }[] = [
  {
    name: 'a cluster IP',
    given: written({ clusterIPs: ['10.0.0.1'] }),
    want: 'web ClusterIP 10.0.0.1 <none> 80/TCP <unknown> <none>',
  },
  {
    name: 'external IPs and a selector',
    given: written({ externalIPs: ['192.0.2.1', '192.0.2.2'], selector: { b: '2', a: '1' } }),
    want: 'web ClusterIP <none> 192.0.2.1,192.0.2.2 80/TCP <unknown> a=1,b=2',
  },
  {
    name: 'node ports',
    given: written({
      type: 'NodePort',
      ports: [
        { port: 80, nodePort: 30080 },
        { port: 53, protocol: 'UDP' },
      ],
    }),
    want: 'web NodePort <none> <none> 80:30080/TCP,53/UDP <unknown> <none>',
  },
  {
    name: 'an external name',
    given: written({ type: 'ExternalName', externalName: 'db.example.org', ports: [] }),
    want: 'web ExternalName <none> db.example.org <none> <unknown> <none>',
  },
  {
    name: 'a pending load balancer',
    given: written({ type: 'LoadBalancer' }),
    want: 'web LoadBalancer <none> <pending> 80/TCP <unknown> <none>',
  },
  {
    name: 'a load balancer with several entries',
    given: balancer({ ip: '192.0.2.2' }, { hostname: 'a.example.org' }, { ip: '192.0.2.2' }, { ip: '192.0.2.1' }),
    want: 'web LoadBalancer <none> 192.0.2.1,192.0.2.2,a.example.org,192.0.2.9 80/TCP <unknown> <none>',
  },
];
for (const { name, given, want } of rows) {
  test(`the row of ${name}`, () => {
    assert.equal(serviceKind.columns.map((column) => column.cell(given, 0)).join(' '), want);
  });
}

const headless = { clusterIP: 'None', clusterIPs: ['None'] };
const warnings: readonly { name: string; spec: Written; metadata?: ObjectMeta; want: readonly string[] }[] = [
  { name: 'a plain Service', spec: {}, want: [] },
  { name: 'a plain headless Service', spec: headless, want: [] },
  {
    name: 'the old hints annotation',
    spec: {},
    metadata: { annotations: { 'service.kubernetes.io/topology-aware-hints': 'auto' } },
    want: [
      'annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead',
    ],
  },
  {
    name: 'fields that a headless Service ignores',
    spec: { ...headless, loadBalancerIP: '192.0.2.1', externalIPs: ['192.0.2.1'], sessionAffinity: 'ClientIP' },
    want: [
      'spec.loadBalancerIP is ignored for headless services',
      'spec.externalIPs is ignored for headless services',
      'spec.SessionAffinity is ignored for headless services',
    ],
  },
  {
    name: 'fields that an ExternalName Service ignores',
    spec: { type: 'ExternalName', externalName: 'db.example.org', externalIPs: ['192.0.2.1'] },
    want: ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  },
  {
    name: 'an external name on another type',
    spec: { externalName: 'db.example.org' },
    want: ['spec.externalName is ignored when spec.type is not "ExternalName"'],
  },
  {
    name: 'addresses that are not canonical',
    spec: { type: 'LoadBalancer', clusterIPs: ['FD00::9'], loadBalancerSourceRanges: ['10.1.2.3/8'] },
    want: [
      'spec.clusterIPs[0]: IPv6 address "FD00::9" should be in RFC 5952 canonical format ("fd00::9")',
      'spec.loadBalancerSourceRanges[0]: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
    ],
  },
  {
    name: 'a deprecated distribution',
    spec: { trafficDistribution: 'PreferClose' },
    want: ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  },
];
for (const { name, spec, metadata, want } of warnings) {
  test(`warnings for ${name}`, () => {
    assert.deepEqual(serviceKind.warnings(written(spec, metadata), undefined, contextWith()), want);
  });
}

const aliasOf = (...ports: readonly ServicePort[]): Service =>
  written({ type: 'ExternalName', externalName: 'shop.example.org', ports });
const tlsPorts: readonly { readonly port: ServicePort; readonly isWarned: boolean }[] = [
  { port: { port: 443 }, isWarned: true },
  { port: { name: 'https', port: 8443 }, isWarned: true },
  { port: { name: 'https-admin', port: 8443 }, isWarned: true },
  { port: { port: 8443, appProtocol: 'https' }, isWarned: true },
  { port: { port: 8443, appProtocol: 'kubernetes.io/wss' }, isWarned: true },
  { port: { name: 'http', port: 80, appProtocol: 'http' }, isWarned: false },
  { port: { name: 'postgres', port: 5432 }, isWarned: false },
];
for (const { port, isWarned } of tlsPorts) {
  test(`EXT-8 an alias with port ${JSON.stringify(port)} ${isWarned ? 'warns' : 'does not warn'} about the certificate`, () => {
    const want =
      'spec.ports[1]: the TLS certificate is that of "shop.example.org", not of this Service: clients must use that server name';
    const service = aliasOf({ name: 'plain', port: 8080 }, port);
    assert.deepEqual(serviceKind.warnings(service, undefined, contextWith()), isWarned ? [want] : []);
  });
}

test('EXT-8 warns about the certificate when a Service becomes an alias, and not again', () => {
  const alias = aliasOf({ port: 443 });
  assert.equal(serviceKind.warnings(alias, written({ ports: [{ port: 443 }] }), contextWith()).length, 1);
  assert.deepEqual(serviceKind.warnings(alias, alias, contextWith()), []);
});

test('drops the status on create', () => {
  const service = balancer({ ip: '192.0.2.1' });
  assert.deepEqual(serviceKind.prepareForCreate(service, contextWith()).status, { loadBalancer: {} });
});

test('warns about addresses in the status that are not canonical', () => {
  assert.deepEqual(serviceKind.statusWarnings(balancer({ hostname: 'a' }, { ip: '01.2.3.4' })), [
    'status.loadBalancer.ingress[1]: non-standard IP address "01.2.3.4" will be considered invalid in a future Kubernetes release: use "1.2.3.4"',
  ]);
});

test('drops the traffic policy of an ExternalName Service, except an invalid one', () => {
  const policyAfter = (internalTrafficPolicy: string): unknown => {
    const service = written({ type: 'ExternalName', externalName: 'db.example.org', internalTrafficPolicy });
    return serviceKind.prepareForCreate(service, contextWith()).spec.internalTrafficPolicy;
  };
  assert.deepEqual([policyAfter('Local'), policyAfter('Elsewhere')], [undefined, 'Elsewhere']);
});

test('field selectors support address and type', () => {
  const { 'spec.clusterIP': ip, 'spec.type': type } = serviceKind.selectableFields;
  assert.deepEqual([ip?.(written(headless)), type?.(written(headless))], ['None', 'ClusterIP']);
});
