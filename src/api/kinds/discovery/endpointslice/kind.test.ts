import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GateName } from '../../../gates.ts';
import { gatesWith } from '../../../gates.ts';
import type { WriteContext } from '../../../kind.ts';
import { endpointSliceKind as kind } from './kind.ts';
import type { EndpointSlice } from './schema.ts';

const contextWith = (
  gates: Partial<Record<GateName, boolean>> = {},
  loopbackEndpoints: string[] = [],
): WriteContext => ({
  gates: gatesWith(gates),
  loopbackEndpoints,
});
interface Given {
  readonly addressType?: string;
  readonly endpoints?: readonly object[];
  readonly ports?: readonly object[] | null;
}
// A slice as a client may write it: decoding takes any word.
const slice = ({ addressType = 'IPv4', endpoints, ports = null }: Given): EndpointSlice =>
  kind.applyDefaults({
    metadata: { name: 'web-abc', namespace: 'shop' },
    addressType,
    endpoints: endpoints?.map((endpoint) => ({ conditions: {}, addresses: ['192.0.2.1'], ...endpoint })) ?? null,
    ports,
  } as unknown as EndpointSlice);
const at = (...addresses: readonly string[]): object => ({ addresses });
const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, i) => make(i));

const rows: readonly { name: string; given: Given; want: readonly string[] }[] = [
  { name: 'no endpoints', given: {}, want: [] },
  { name: 'no address type', given: { addressType: '' }, want: ['addressType: Required value'] },
  {
    name: 'an unknown address type, whose addresses are not validated',
    given: { addressType: 'IP', endpoints: [at('x')] },
    want: ['addressType: Unsupported value: "IP": supported values: "FQDN", "IPv4", "IPv6"'],
  },
  {
    name: 'too many ports',
    given: { ports: times(20_001, (index) => ({ name: `p${index}` })) },
    want: ['ports: Too many: 20001: must have at most 20000 items'],
  },
  {
    name: 'an invalid port',
    given: { ports: [{ name: 'a.b', protocol: 'tcp', appProtocol: '/x', srvServiceName: '_x' }] },
    want: [
      'ports[0].name: Invalid value: "a.b": must not contain dots',
      'ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
      'ports[0].appProtocol: Invalid value: "/x": prefix part must be non-empty',
      'ports[0].srvServiceName: Invalid value: "_x": a lowercase RFC 1123 label must consist of',
    ],
  },
  {
    name: 'an empty protocol',
    given: { ports: [{ protocol: '' }] },
    want: ['ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"'],
  },
  { name: 'SRV-2 an SRV name', given: { ports: [{ port: 88, srvServiceName: 'kerberos' }] }, want: [] },
  {
    name: 'SRV-3 an empty SRV name',
    given: { ports: [{ port: 88, srvServiceName: '' }] },
    want: ['ports[0].srvServiceName: Invalid value: "": a lowercase RFC 1123 label must consist of'],
  },
  { name: 'two ports without names', given: { ports: [{}, {}] }, want: ['ports[1].name: Duplicate value: ""'] },
  { name: 'a port of 70000', given: { ports: [{ port: 70_000 }] }, want: [] },
  {
    name: 'too many endpoints, which are not validated',
    given: { endpoints: times(1001, () => at()) },
    want: ['endpoints: Too many: 1001: must have at most 1000 items'],
  },
  {
    name: 'no address',
    given: { endpoints: [at()] },
    want: ['endpoints[0].addresses: Required value: must contain at least 1 address'],
  },
  {
    name: 'too many addresses',
    given: { endpoints: [at(...times(101, (index) => `192.0.2.${index}`))] },
    want: ['endpoints[0].addresses: Too many: 101: must have at most 100 items'],
  },
  {
    name: 'an IPv4 slice with other addresses',
    given: { endpoints: [at('db.example.org', 'fd00::1', '169.254.0.1', '010.0.0.1')] },
    want: [
      'endpoints[0].addresses[0]: Invalid value: "db.example.org": must be a valid IP address, (e.g.',
      'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
      'endpoints[0].addresses[2]: Invalid value: "169.254.0.1": may not be in the link-local range',
    ],
  },
  {
    name: 'an IPv6 slice with other addresses',
    given: { addressType: 'IPv6', endpoints: [at('FD00::1', '192.0.2.1', '::1')] },
    want: [
      'endpoints[0].addresses[0]: Invalid value: "FD00::1": must be in canonical form ("fd00::1")',
      'endpoints[0].addresses: Invalid value: "192.0.2.1": must be an IPv6 address',
      'endpoints[0].addresses[2]: Invalid value: "::1": may not be in the loopback range',
    ],
  },
  {
    name: 'names that are not domains',
    given: { addressType: 'FQDN', endpoints: [at('', 'web', 'A.b', 'a.b.')] },
    want: [
      'endpoints[0].addresses[0]: Required value',
      'endpoints[0].addresses[1]: Invalid value: "web": should be a domain with at least two segments separated by dots',
      'endpoints[0].addresses[2]: Invalid value: "A.b": a lowercase RFC 1123 subdomain must consist of',
    ],
  },
  {
    name: 'invalid names of node and host',
    given: { endpoints: [{ nodeName: 'N', hostname: 'a.b' }] },
    want: [
      'endpoints[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain',
      'endpoints[0].hostname: Invalid value: "a.b": must not contain dots',
    ],
  },
  {
    name: 'too many hints',
    given: {
      endpoints: [
        { hints: { forZones: times(9, (i) => ({ name: `z${i}` })), forNodes: times(9, (i) => ({ name: `n${i}` })) } },
      ],
    },
    want: [
      'endpoints[0].hints.forZones: Too many: 9: must have at most 8 items',
      'endpoints[0].hints.forNodes: Too many: 9: must have at most 8 items',
    ],
  },
  {
    name: 'invalid hints',
    given: {
      endpoints: [{ hints: { forZones: [{ name: 'a' }, { name: 'a' }, { name: '-' }], forNodes: [{ name: 'N' }] } }],
    },
    want: [
      'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
      'endpoints[0].hints.forZones[2].name: Invalid value: "-": a valid label must be',
      'endpoints[0].hints.forNodes[0].name: Invalid value: "N": a lowercase RFC 1123 subdomain',
    ],
  },
];
for (const { name, given, want } of rows) {
  test(`a slice with ${name}`, () => {
    const errors = kind.validateCreate(slice(given), contextWith()).map(({ path, body }) => `${path}: ${body}`);
    assert.equal(errors.length, want.length, errors.join('\n'));
    for (const [index, error] of errors.entries()) assert.ok(error.startsWith(want[index] ?? '?'), error);
  });
}

test('validates changed endpoints only, and all ports', () => {
  const bad = slice({ endpoints: [at('x')], ports: [{}, {}] });
  const errors = kind.validateUpdate(bad, bad, contextWith());
  assert.deepEqual(
    errors.map(({ path }) => path),
    ['ports[1].name'],
  );
});

test('the address type cannot be changed', () => {
  const errors = kind.validateUpdate(slice({ addressType: 'IPv6' }), slice({}), contextWith());
  assert.deepEqual(errors, [
    { path: 'addressType', reason: 'FieldValueInvalid', body: 'Invalid value: "IPv6": field is immutable' },
  ]);
});

test('SRV-4 drops the SRV name with the gate disabled, unless it is in use', () => {
  const used = slice({ ports: [{ port: 88, srvServiceName: 'kerberos' }] });
  const plain = slice({ ports: [{ port: 88 }] });
  const off = contextWith({ SRVServiceName: false });
  assert.deepEqual(kind.prepareForCreate(used, off), plain);
  assert.deepEqual(kind.prepareForUpdate(used, plain, off), plain);
  assert.deepEqual(kind.prepareForUpdate(used, used, off), used);
  assert.deepEqual(kind.prepareForCreate(used, contextWith()), used);
});

test('drops node hints with the gate disabled, unless they are in use', () => {
  const used = slice({ endpoints: [{ hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] } }] });
  const plain = slice({ endpoints: [{ hints: { forZones: [{ name: 'a' }] } }] });
  const off = contextWith({ PreferSameTrafficDistribution: false });
  assert.deepEqual(kind.prepareForCreate(used, off), plain);
  assert.deepEqual(kind.prepareForUpdate(used, used, off), used);
  assert.deepEqual(kind.prepareForCreate(used, contextWith()), used);
});

test('drops the topology of v1beta1, and keeps its node', () => {
  const old = slice({ endpoints: [{ deprecatedTopology: { 'kubernetes.io/hostname': 'n' } }] });
  assert.deepEqual(kind.prepareForCreate(old, contextWith()), slice({ endpoints: [{}] }));
  assert.deepEqual(kind.prepareForUpdate(old, old, contextWith()), slice({ endpoints: [{ nodeName: 'n' }] }));
});

const cells: readonly (readonly [given: Given, want: string])[] = [
  [{}, 'IPv4 <unset> <unset>'],
  [{ ports: [{ port: 80 }, { name: 'web' }, {}], endpoints: [{}] }, 'IPv4 80,web,* 192.0.2.1'],
  [
    { endpoints: [at('192.0.2.1', '192.0.2.2'), at('192.0.2.3'), at('192.0.2.4')] },
    'IPv4 <unset> 192.0.2.1,192.0.2.2,192.0.2.3 + 1 more...',
  ],
];
for (const [given, want] of cells) {
  test(`a slice prints as ${want}`, () => {
    const texts = kind.columns.slice(1, 4).map((column) => column.cell(slice(given), 0));
    assert.equal(texts.join(' '), want);
  });
}

test('FQDN slices are deprecated', () => {
  assert.deepEqual(kind.warnings(slice({ addressType: 'FQDN' }), undefined, contextWith()), [
    'spec.addressType: FQDN endpoints are deprecated',
  ]);
});
