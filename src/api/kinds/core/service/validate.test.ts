import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ObjectMeta } from '../../../metadata.ts';
import { serviceKind } from './kind.ts';
import type { Settings, Written } from './testing/service.ts';
import { contextWith, creating, texts, written } from './testing/service.ts';

interface Row {
  readonly name: string;
  readonly spec: Written;
  readonly metadata?: ObjectMeta;
  readonly gates?: Settings;
  /** The errors, in order; a text that ends in `…` is the beginning of one. */
  readonly want: readonly string[];
}

const address = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const cidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
const range = 'must be between 1 and 65535, inclusive';
const onlyLoadBalancers = "may only be used when `type` is 'LoadBalancer'";
const sources = 'service.beta.kubernetes.io/load-balancer-source-ranges';
const two = [
  { name: 'a', port: 80 },
  { name: 'b', port: 81 },
];
const mixed = [
  { name: 'dns-tcp', port: 53, protocol: 'TCP' },
  { name: 'dns-udp', port: 53, protocol: 'UDP' },
];
const alias = { type: 'ExternalName', externalName: 'db.example.org' };
const forAliases = 'Forbidden: may not be set for ExternalName services';

const rows: readonly Row[] = [
  { name: 'a plain Service', spec: {}, want: [] },
  {
    name: 'topology annotations that differ',
    spec: {},
    metadata: {
      annotations: {
        'service.kubernetes.io/topology-mode': 'Auto',
        'service.kubernetes.io/topology-aware-hints': 'Off',
      },
    },
    want: [
      'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "Auto": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified',
    ],
  },
  { name: 'no ports', spec: { ports: [] }, want: ['spec.ports: Required value'] },
  { name: 'no ports on a headless Service', spec: { ports: [], clusterIP: 'None' }, want: [] },
  {
    name: 'a headless load balancer',
    spec: { type: 'LoadBalancer', clusterIP: 'None' },
    want: ['spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for LoadBalancer services'],
  },
  {
    name: 'a headless node port',
    spec: { type: 'NodePort', clusterIP: 'None' },
    want: ['spec.clusterIPs[0]: Invalid value: "None": may not be set to \'None\' for NodePort services'],
  },
  { name: 'EXT-2 a selector on an external name', spec: { ...alias, selector: { app: 'db' } }, want: [] },
  { name: 'EXT-7 an external name without ports', spec: { ...alias, ports: [] }, want: [] },
  {
    name: 'EXT-7 an external name with an invalid port',
    spec: { ...alias, ports: [{ port: 0 }] },
    want: [`spec.ports[0].port: Invalid value: 0: ${range}`, `spec.ports[0].targetPort: Invalid value: 0: ${range}`],
  },
  {
    name: 'EXT-2 addresses on an external name',
    spec: { ...alias, clusterIP: 'None', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' },
    want: [`spec.clusterIPs: ${forAliases}`, `spec.ipFamilies: ${forAliases}`, `spec.ipFamilyPolicy: ${forAliases}`],
  },
  {
    name: 'an external name that is missing',
    spec: { type: 'ExternalName', externalName: '.' },
    want: ['spec.externalName: Required value'],
  },
  { name: 'an external name with a final dot', spec: { ...alias, externalName: 'db.example.org.' }, want: [] },
  { name: 'an external name with a label of 70', spec: { ...alias, externalName: `${'a'.repeat(70)}.org` }, want: [] },
  {
    name: 'an external name that is not a DNS name',
    spec: { ...alias, externalName: 'DB.' },
    want: ['spec.externalName: Invalid value: "DB": a lowercase RFC 1123 subdomain must consist of …'],
  },
  {
    name: 'two ports without names',
    spec: { ports: [{ port: 80 }, { port: 81 }] },
    want: ['spec.ports[0].name: Required value', 'spec.ports[1].name: Required value'],
  },
  {
    name: 'an invalid port name',
    spec: { ports: [{ name: 'a.b', port: 80 }] },
    want: ['spec.ports[0].name: Invalid value: "a.b": must not contain dots'],
  },
  {
    name: 'SRV-8 a duplicate port name',
    spec: {
      ports: [
        { name: 'a', port: 80, srvServiceName: 'x' },
        { name: 'a', port: 81, srvServiceName: 'y' },
      ],
    },
    want: ['spec.ports[1].name: Duplicate value: "a"'],
  },
  {
    name: 'a missing port, with two errors',
    spec: { ports: [{ port: 0 }] },
    want: [`spec.ports[0].port: Invalid value: 0: ${range}`, `spec.ports[0].targetPort: Invalid value: 0: ${range}`],
  },
  {
    name: 'an unknown protocol',
    spec: { ports: [{ port: 80, protocol: 'tcp' }] },
    want: ['spec.ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"'],
  },
  {
    name: 'invalid target ports',
    spec: {
      ports: [
        { ...two[0], port: 80, targetPort: 65536 },
        { ...two[1], port: 81, targetPort: 'HTTP1-' },
      ],
    },
    want: [
      `spec.ports[0].targetPort: Invalid value: 65536: ${range}`,
      'spec.ports[1].targetPort: Invalid value: "HTTP1-": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'spec.ports[1].targetPort: Invalid value: "HTTP1-": must contain at least one letter (a-z)',
      'spec.ports[1].targetPort: Invalid value: "HTTP1-": must not begin or end with a hyphen',
    ],
  },
  {
    name: 'an invalid application protocol, before an invalid SRV name',
    spec: { ports: [{ port: 80, appProtocol: 'a/b/c', srvServiceName: '_x' }] },
    want: [
      'spec.ports[0].appProtocol: Invalid value: "a/b/c": a valid label key must consist of …',
      'spec.ports[0].srvServiceName: Invalid value: "_x": a lowercase RFC 1123 label must consist of …',
    ],
  },
  { name: 'SRV-1 an SRV name on a single port', spec: { ports: [{ port: 88, srvServiceName: 'kerberos' }] }, want: [] },
  {
    name: 'SRV-8 two ports with one SRV name',
    spec: { ports: mixed.map((port) => ({ ...port, srvServiceName: 'kerberos' })) },
    want: [],
  },
  {
    name: 'SRV-11 an application protocol beside an SRV name',
    spec: { ports: [{ port: 88, srvServiceName: 'kerberos', appProtocol: 'example.org/krb' }] },
    want: [],
  },
  {
    name: 'SRV-3 an empty SRV name',
    spec: { ports: [{ port: 88, srvServiceName: '' }] },
    want: ['spec.ports[0].srvServiceName: Invalid value: "": a lowercase RFC 1123 label must consist of …'],
  },
  {
    name: 'SRV-3 an SRV name that is too long',
    spec: { ports: [{ port: 88, srvServiceName: 'a'.repeat(64) }] },
    want: [`spec.ports[0].srvServiceName: Invalid value: "${'a'.repeat(64)}": must be no more than 63 characters`],
  },
  {
    name: 'SRV-4 an invalid SRV name with the gate disabled, which is dropped',
    spec: { ports: [{ port: 88, srvServiceName: '_x' }] },
    gates: { SRVServiceName: false },
    want: [],
  },
  {
    name: 'an invalid selector',
    spec: { selector: { 'a/': '-' } },
    want: [
      'spec.selector: Invalid value: "a/": name part must be non-empty',
      'spec.selector: Invalid value: "a/": name part must consist of …',
      'spec.selector: Invalid value: "-": a valid label must be …',
    ],
  },
  {
    name: 'an unknown affinity',
    spec: { sessionAffinity: 'Cookie' },
    want: ['spec.sessionAffinity: Unsupported value: "Cookie": supported values: "ClientIP", "None"'],
  },
  {
    name: 'an affinity timeout of a day',
    spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_400 } } },
    want: [],
  },
  {
    name: 'an affinity timeout of zero',
    spec: { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
    want: [
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
    ],
  },
  {
    name: 'invalid external IPs',
    spec: { externalIPs: ['web', '127.0.0.1', '192.0.2.1'] },
    want: [
      `spec.externalIPs[0]: Invalid value: "web": ${address}`,
      'spec.externalIPs[1]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  },
  {
    name: 'leading zeros with strict addresses',
    spec: { externalIPs: ['192.0.02.1'], clusterIP: '10.0.0.01' },
    gates: { StrictIPCIDRValidation: true },
    want: [
      'spec.clusterIPs[0]: Invalid value: "10.0.0.01": must not have leading 0s',
      'spec.externalIPs[0]: Invalid value: "192.0.02.1": must not have leading 0s',
    ],
  },
  {
    name: 'an unknown type',
    spec: { type: 'clusterip' },
    want: [
      'spec.type: Unsupported value: "clusterip": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ],
  },
  {
    name: 'node ports on a ClusterIP Service',
    spec: { ports: [{ port: 80, nodePort: 30080 }] },
    want: ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
  },
  {
    name: 'a duplicate node port and a duplicate port',
    spec: { type: 'NodePort', ports: two.map((port) => ({ ...port, port: 80, nodePort: 30080 })) },
    want: [
      'spec.ports[1].nodePort: Duplicate value: 30080',
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ],
  },
  {
    name: 'source ranges without a load balancer',
    spec: { loadBalancerSourceRanges: [' 10.0.0.0/8 ', '10.0.0.0'] },
    want: [
      `spec.LoadBalancerSourceRanges: Forbidden: ${onlyLoadBalancers}`,
      `spec.LoadBalancerSourceRanges[1]: Invalid value: "10.0.0.0": ${cidr}`,
    ],
  },
  {
    name: 'source ranges by annotation',
    spec: {},
    metadata: { annotations: { [sources]: '10.0.0.0/8, x' } },
    want: [
      `metadata.annotations[${sources}]: Forbidden: ${onlyLoadBalancers}`,
      `metadata.annotations[${sources}]: Invalid value: "x": ${cidr}`,
    ],
  },
  {
    name: 'a blank annotation for source ranges',
    spec: { type: 'LoadBalancer' },
    metadata: { annotations: { [sources]: ' ' } },
    want: [],
  },
  {
    name: 'fields of load balancers on other types',
    spec: { allocateLoadBalancerNodePorts: true, loadBalancerClass: 'example.org/lb' },
    want: [
      `spec.allocateLoadBalancerNodePorts: Forbidden: ${onlyLoadBalancers}`,
      `spec.loadBalancerClass: Forbidden: ${onlyLoadBalancers}`,
    ],
  },
  {
    name: 'an empty class, with two errors',
    spec: { type: 'LoadBalancer', loadBalancerClass: '' },
    want: [
      'spec.loadBalancerClass: Invalid value: "": name part must be non-empty',
      'spec.loadBalancerClass: Invalid value: "": name part must consist of …',
    ],
  },
  { name: 'any loadBalancerIP', spec: { type: 'LoadBalancer', loadBalancerIP: 'anything' }, want: [] },
  {
    name: 'traffic policies on types that do not use them',
    spec: { externalTrafficPolicy: 'Local', healthCheckNodePort: 30000 },
    want: [
      'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
    ],
  },
  {
    name: 'unknown policies',
    spec: { type: 'NodePort', externalTrafficPolicy: 'Near', internalTrafficPolicy: 'Far', trafficDistribution: 'Any' },
    want: [
      'spec.externalTrafficPolicy: Unsupported value: "Near": supported values: "Cluster", "Local"',
      'spec.internalTrafficPolicy: Unsupported value: "Far": supported values: "Cluster", "Local"',
      'spec.trafficDistribution: Unsupported value: "Any": supported values: "PreferClose", "PreferSameZone", "PreferSameNode"',
    ],
  },
  {
    name: 'a distribution with its gate disabled',
    spec: { trafficDistribution: 'PreferSameNode' },
    gates: { PreferSameTrafficDistribution: false },
    want: ['spec.trafficDistribution: Unsupported value: "PreferSameNode": supported values: "PreferClose"'],
  },
  { name: 'LB-1 a load balancer of two protocols', spec: { type: 'LoadBalancer', ports: mixed }, want: [] },
  {
    name: 'LB-2 a load balancer of two protocols with the gate disabled',
    spec: { type: 'LoadBalancer', ports: mixed },
    gates: { MixedProtocolLBService: false },
    want: [
      'spec.ports: Invalid value: [{"Name":"dns-tcp","Protocol":"TCP","AppProtocol":null,"Port":53,"TargetPort":53,"NodePort":0},{"Name":"dns-udp","Protocol":"UDP","AppProtocol":null,"Port":53,"TargetPort":53,"NodePort":0}]: may not contain more than 1 protocol when type is \'LoadBalancer\'',
    ],
  },
  {
    name: 'LB-2 a node port of two protocols with the gate disabled',
    spec: { type: 'NodePort', ports: mixed },
    gates: { MixedProtocolLBService: false },
    want: [],
  },
];

const matches = (errors: readonly string[], want: readonly string[]): readonly string[] =>
  errors.map((error, index) => {
    const expected = want[index] ?? '';
    return expected.endsWith('…') && error.startsWith(expected.slice(0, -1)) ? expected : error;
  });

for (const { name, spec, metadata, gates, want } of rows) {
  test(`a new Service with ${name}`, () => {
    const errors = creating(written(spec, metadata), gates);
    assert.deepEqual(matches(errors, want), want);
  });
}

const names: readonly (readonly [id: string, name: string, isPrefix: boolean, relaxed: boolean, ok: boolean])[] = [
  ['NAME-1', '1web', false, true, true],
  ['NAME-1', '1web-', true, true, true],
  ['NAME-1', 'a.b', false, true, false],
  ['NAME-2', '1web', false, false, false],
  ['NAME-2', '1web-', true, false, false],
  ['NAME-2', 'web-', true, false, true],
  ['NAME-2', 'web', false, false, true],
];
for (const [id, name, isPrefix, relaxed, ok] of names) {
  test(`${id} the name ${name} with the gate ${relaxed ? 'enabled' : 'disabled'} is ${ok ? 'accepted' : 'rejected'}`, () => {
    const context = contextWith({ RelaxedServiceNameValidation: relaxed });
    assert.equal(serviceKind.nameErrors(name, isPrefix, context).length === 0, ok);
  });
}

const noMode = written({ type: 'LoadBalancer' });
const statuses: readonly { name: string; type?: string; ingress: readonly object[]; want: readonly string[] }[] = [
  { name: 'nothing', ingress: [], want: [] },
  {
    name: 'another type',
    type: 'NodePort',
    ingress: [{ ip: 'x' }],
    want: ["status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"],
  },
  {
    name: 'an invalid address without a mode',
    ingress: [{ ip: 'x' }],
    want: [
      `status.loadBalancer.ingress[0].ip: Invalid value: "x": ${address}`,
      'status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set',
    ],
  },
  {
    name: 'a mode without an address',
    ingress: [{ ipMode: 'VIP' }],
    want: ['status.loadBalancer.ingress[0].ipMode: Forbidden: may not be specified when `ip` is not set'],
  },
  {
    name: 'an unknown mode',
    ingress: [{ ip: '192.0.2.1', ipMode: 'Direct' }],
    want: ['status.loadBalancer.ingress[0].ipMode: Unsupported value: "Direct": supported values: "Proxy", "VIP"'],
  },
  {
    name: 'an address as a hostname',
    ingress: [{ hostname: '192.0.2.1' }],
    want: [
      'status.loadBalancer.ingress[0].hostname: Invalid value: "192.0.2.1": must be a DNS name, not an IP address',
    ],
  },
  {
    name: 'LB-3 both forms of port status',
    ingress: [
      {
        hostname: 'lb.example.org',
        ports: [{ port: 53, protocol: 'UDP', error: 'MixedProtocolNotSupported' }],
        portStatuses: [{ port: 53, protocol: 'UDP', ready: false, message: 'no UDP' }],
        message: 'partly',
      },
    ],
    want: [],
  },
];
for (const { name, type = 'LoadBalancer', ingress, want } of statuses) {
  test(`a status with ${name}`, () => {
    const service = { ...written({ type }), status: { loadBalancer: { ingress } } };
    assert.deepEqual(texts(serviceKind.validateStatus(service, noMode, contextWith())), want);
  });
}
