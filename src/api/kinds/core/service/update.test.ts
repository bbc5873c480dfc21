import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from './schema.ts';
import type { Settings, Written } from './testing/service.ts';
import { contextWith, creating, texts, updating, written } from './testing/service.ts';
import { validateClusterIps } from './validate-cluster-ips.ts';

const v4 = { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
const dual = {
  clusterIP: '10.0.0.1',
  clusterIPs: ['10.0.0.1', 'fd00::1'],
  ipFamilies: ['IPv4', 'IPv6'],
  ipFamilyPolicy: 'PreferDualStack',
};
const headless = { clusterIP: 'None', clusterIPs: ['None'], ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' };
const balancer = { ...v4, type: 'LoadBalancer' };
const alias = { type: 'ExternalName', externalName: 'db.example.org' };
const address = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const once = 'may not change once set';

const blocks: readonly { name: string; spec: Written; want: readonly string[] }[] = [
  { name: 'clusterIP only, before the list is filled', spec: { clusterIP: '10.0.0.1' }, want: ['Required value'] },
  {
    name: 'the list only',
    spec: { clusterIPs: ['10.0.0.1'] },
    want: ['Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified'],
  },
  {
    name: 'another first address',
    spec: { clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.1'] },
    want: ['Invalid value: ["10.0.0.1"]: first value must match `clusterIP`'],
  },
  {
    name: 'unknown values',
    spec: { ipFamilies: ['IPv5', 'IPv5'], ipFamilyPolicy: 'Dual' },
    want: [
      'Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
      'Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
      'Duplicate value: "IPv5"',
      'Unsupported value: "Dual": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
    ],
  },
  {
    name: 'None among others',
    spec: { clusterIP: 'None', clusterIPs: ['None', '10.0.0.1'] },
    want: ['Invalid value: ["None","10.0.0.1"]: \'None\' must be the first and only value'],
  },
  {
    name: 'none in lower case',
    spec: { clusterIP: 'none', clusterIPs: ['none'] },
    want: [`Invalid value: "none": ${address}`],
  },
  {
    name: 'two addresses of the same family',
    spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', '10.0.0.2'] },
    want: ['Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family'],
  },
  {
    name: 'three addresses of two families',
    spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1', '10.0.0.2'] },
    want: ['Invalid value: ["10.0.0.1","fd00::1","10.0.0.2"]: may only hold up to 2 values'],
  },
  {
    name: 'an address of another family than ipFamilies',
    spec: { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'], ipFamilies: ['IPv6', 'IPv4'] },
    want: [
      'Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
      'Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[1]`',
    ],
  },
  { name: 'a headless Service of two families', spec: { ...headless, ipFamilies: ['IPv4', 'IPv6'] }, want: [] },
  { name: 'an external name', spec: { ...alias, clusterIP: 'x' }, want: [] },
];
for (const { name, spec, want } of blocks) {
  test(`cluster IPs: ${name}`, () => {
    const errors = validateClusterIps(written(spec), contextWith());
    assert.deepEqual(
      errors.map(({ body }) => body),
      want,
    );
  });
}

test('accepts stored addresses even with StrictIPCIDRValidation', () => {
  const old = written({ ...v4, clusterIP: '10.0.0.01', clusterIPs: ['10.0.0.01'] });
  const context = contextWith({ StrictIPCIDRValidation: true });
  assert.deepEqual(validateClusterIps(old, context, old), []);
  assert.equal(texts(validateClusterIps(old, context)).length, 1);
});

interface Row {
  readonly name: string;
  readonly old: Written;
  readonly next: Written;
  readonly gates?: Settings;
  readonly want: readonly string[];
}
const mixed = [
  { name: 'a', port: 53, protocol: 'TCP' },
  { name: 'b', port: 53, protocol: 'UDP' },
];
const off = { MixedProtocolLBService: false };
const rows: readonly Row[] = [
  { name: 'nothing', old: v4, next: v4, want: [] },
  {
    name: 'the address',
    old: v4,
    next: { ...v4, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] },
    want: [`spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: ${once}`],
  },
  {
    name: 'headful to headless',
    old: v4,
    next: headless,
    want: [`spec.clusterIPs[0]: Invalid value: ["None"]: ${once}`],
  },
  {
    name: 'headless to headful',
    old: headless,
    next: v4,
    want: [`spec.clusterIPs[0]: Invalid value: ["10.0.0.1"]: ${once}`],
  },
  {
    name: 'families of a headless Service',
    old: headless,
    next: { ...headless, ipFamilies: ['IPv6'] },
    want: [],
  },
  { name: 'one family to two', old: v4, next: dual, want: [] },
  { name: 'two families to one', old: dual, next: v4, want: [] },
  {
    name: 'two families to one without the policy',
    old: dual,
    next: { ...v4, ipFamilyPolicy: 'PreferDualStack' },
    want: [
      'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be \'SingleStack\' when releasing the secondary clusterIP',
      'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be \'SingleStack\' when releasing the secondary ipFamily',
    ],
  },
  {
    name: 'the order of families, both reported as the first',
    old: dual,
    next: { ...dual, clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.0.0.1'], ipFamilies: ['IPv6', 'IPv4'] },
    want: [
      `spec.clusterIPs[0]: Invalid value: ["fd00::1","10.0.0.1"]: ${once}`,
      `spec.clusterIPs[1]: Invalid value: ["fd00::1","10.0.0.1"]: ${once}`,
      `spec.ipFamilies[0]: Invalid value: ["IPv6","IPv4"]: ${once}`,
      `spec.ipFamilies[0]: Invalid value: ["IPv6","IPv4"]: ${once}`,
    ],
  },
  {
    name: 'the class of a load balancer',
    old: { ...balancer, loadBalancerClass: 'example.org/a' },
    next: balancer,
    want: [`spec.loadBalancerClass: Invalid value: null: ${once}`],
  },
  {
    name: 'an invalid class, which is reported twice',
    old: { ...balancer, loadBalancerClass: '-' },
    next: { ...balancer, loadBalancerClass: '-' },
    want: Array(2).fill(
      "spec.loadBalancerClass: Invalid value: \"-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
    ),
  },
  {
    name: 'the health check port',
    old: { ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: 30001 },
    next: { ...balancer, externalTrafficPolicy: 'Local', healthCheckNodePort: 30002 },
    want: ['spec.healthCheckNodePort: Forbidden: field is immutable'],
  },
  {
    name: 'a load balancer with source ranges to a node port',
    old: { ...balancer, loadBalancerSourceRanges: ['10.0.0.0/8'] },
    next: { ...v4, type: 'NodePort', loadBalancerSourceRanges: ['10.0.0.0/8'] },
    want: ["spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'"],
  },
  {
    name: 'a source range that differs from an invalid one only by space around it',
    old: { ...balancer, loadBalancerSourceRanges: [' 10.0.0.1/8'] },
    next: { ...balancer, loadBalancerSourceRanges: ['10.0.0.1/8  ', '10.0.0.2/8'] },
    gates: { StrictIPCIDRValidation: true },
    want: [
      'spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.2/8": must not have bits set beyond the prefix length',
    ],
  },
  {
    name: 'LB-2 a mixed load balancer with the gate disabled',
    old: { ...balancer, ports: mixed },
    next: { ...balancer, ports: mixed, selector: { app: 'dns' } },
    gates: off,
    want: [],
  },
  {
    name: 'LB-2 a mixed node port to a load balancer with the gate disabled',
    old: { ...v4, type: 'NodePort', ports: mixed },
    next: { ...balancer, ports: mixed },
    gates: off,
    want: [],
  },
  {
    name: 'LB-2 a mixed load balancer to a cluster IP with the gate disabled',
    old: { ...balancer, ports: mixed },
    next: { ...v4, ports: mixed },
    gates: off,
    want: [],
  },
  { name: 'EXT-6 a cluster IP to an external name', old: v4, next: { ...v4, ...alias }, want: [] },
  { name: 'EXT-6 an external name to a cluster IP', old: alias, next: { ...v4, type: 'ClusterIP' }, want: [] },
  {
    name: 'EXT-6 an external name with another address',
    old: v4,
    next: { ...alias, clusterIP: '10.0.0.2', clusterIPs: ['10.0.0.2'] },
    want: ['spec.clusterIPs: Forbidden: may not be set for ExternalName services'],
  },
];
for (const { name, old, next, gates, want } of rows) {
  test(`changing ${name}`, () => assert.deepEqual(updating(written(next), written(old), gates).errors, want));
}

test('LB-2 a single protocol cannot become mixed with the gate disabled', () => {
  const { errors } = updating(written({ ...balancer, ports: mixed }), written(balancer), off);
  assert.equal(errors.length, 1);
  assert.match(errors[0] ?? '', /^spec\.ports: .*may not contain more than 1 protocol when type is 'LoadBalancer'$/);
});

test('NAME-3 an update does not validate the name', () => {
  const old = written(v4, { name: '1web' });
  assert.deepEqual(updating(old, old, { RelaxedServiceNameValidation: false }).errors, []);
});

const everything: Written = {
  ...balancer,
  ports: [{ port: 80, nodePort: 30080 }],
  externalTrafficPolicy: 'Local',
  healthCheckNodePort: 30001,
  loadBalancerClass: 'example.org/lb',
  selector: { app: 'web' },
  loadBalancerIP: '192.0.2.1',
};
const kept = {
  ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
  selector: { app: 'web' },
  loadBalancerIP: '192.0.2.1',
  sessionAffinity: 'None',
};
const policy = { internalTrafficPolicy: 'Cluster' };
const wipes: readonly { name: string; old: Written; next: Written; want: object }[] = [
  {
    name: 'to a cluster IP',
    old: everything,
    next: { ...everything, type: 'ClusterIP' },
    want: { ...kept, ...policy, ...v4, type: 'ClusterIP' },
  },
  {
    name: 'EXT-6 to an external name',
    old: everything,
    next: { ...everything, ...alias },
    want: { ...kept, ...alias },
  },
  {
    name: 'to a node port',
    old: everything,
    next: { ...everything, type: 'NodePort' },
    want: {
      ...kept,
      ...policy,
      ...v4,
      type: 'NodePort',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80, nodePort: 30080 }],
      externalTrafficPolicy: 'Local',
    },
  },
];
for (const { name, old, next, want } of wipes) {
  test(`a load balancer ${name} loses the fields of load balancers`, () => {
    // What a client sends back is what it has read.
    const before = written(old);
    const { stored, errors } = updating({ ...before, spec: { ...before.spec, ...pick(next) } }, before);
    assert.deepEqual(stored.spec, want);
    assert.deepEqual(errors, []);
  });
}

const pick = ({ type, externalName }: Written): Partial<Service['spec']> =>
  ({ type, ...(externalName === undefined ? {} : { externalName }) }) as Partial<Service['spec']>;

test('rejects a changed node port instead of clearing it', () => {
  const { errors } = updating(written({ ...v4, ports: [{ port: 80, nodePort: 30081 }] }), written(everything));
  assert.deepEqual(errors, ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]);
});

test('clears the status of a former load balancer', () => {
  const status = { loadBalancer: { ingress: [{ ip: '192.0.2.1', ipMode: 'VIP' as const }] } };
  const old = { ...written(balancer), status };
  assert.deepEqual(updating({ ...written(balancer), status }, old).stored.status, status);
  assert.deepEqual(updating({ ...written(v4), status }, old).stored.status, { loadBalancer: {} });
});

const named = { ...v4, ports: [{ port: 88, srvServiceName: 'kerberos' }] };
const gated: readonly { name: string; on: boolean; old?: Written; next: Written; want: string | undefined }[] = [
  { name: 'kept on create with the gate enabled', on: true, next: named, want: 'kerberos' },
  { name: 'kept on update with the gate enabled', on: true, old: v4, next: named, want: 'kerberos' },
  { name: 'dropped on update with the gate disabled', on: false, old: v4, next: named, want: undefined },
  { name: 'kept with the gate disabled where it is in use', on: false, old: named, next: named, want: 'kerberos' },
  {
    name: 'changed with the gate disabled where it is in use',
    on: false,
    old: named,
    next: { ...v4, ports: [{ port: 88, srvServiceName: 'krb' }] },
    want: 'krb',
  },
];
for (const { name, on, old, next, want } of gated) {
  test(`SRV-4 srvServiceName is ${name}`, () => {
    const before = written(old ?? v4);
    const { stored } = updating(written(next), before, { SRVServiceName: on });
    assert.equal(stored.spec.ports?.[0]?.srvServiceName, want);
  });
}

test('SRV-4 a Service without the field is the same with the gate enabled or off', () => {
  for (const on of [true, false]) assert.deepEqual(creating(written(v4), { SRVServiceName: on }), []);
});
