import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GateName } from '../../../gates.ts';
import { gatesWith } from '../../../gates.ts';
import type { WriteContext } from '../../../kind.ts';
import { endpointsKind as kind } from './kind.ts';
import type { Endpoints, EndpointSubset } from './schema.ts';

const contextWith = (
  gates: Partial<Record<GateName, boolean>> = {},
  loopbackEndpoints: string[] = [],
): WriteContext => ({
  gates: gatesWith(gates),
  loopbackEndpoints,
});
const of = (...subsets: readonly EndpointSubset[]): Endpoints =>
  kind.applyDefaults({ metadata: { name: 'web', namespace: 'shop' }, ...(subsets.length > 0 ? { subsets } : {}) });
const at = (address: object, ...ports: readonly object[]): EndpointSubset =>
  // Ports are written as a client may write them.
  ({ addresses: [{ ip: '192.0.2.1', ...address }], ports }) as EndpointSubset;

const label = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must";
const rows: readonly { name: string; given: Endpoints; want: readonly string[] }[] = [
  { name: 'no subsets', given: of(), want: [] },
  {
    name: 'a subset without addresses',
    given: of({ ports: [{ port: 80 }] }),
    want: ['subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`'],
  },
  {
    name: 'EXT-5 a hostname instead of an address, with two errors',
    given: of(at({ ip: 'db.example.org' })),
    want: [
      'subsets[0].addresses[0].ip: Invalid value: "db.example.org": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'subsets[0].addresses[0].ip: Invalid value: "db.example.org": must be a valid IP address',
    ],
  },
  {
    name: 'a loopback address that is not ready',
    given: of({ notReadyAddresses: [{ ip: '127.0.0.1' }] }),
    want: [
      'subsets[0].notReadyAddresses[0].ip: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
    ],
  },
  {
    name: 'invalid names',
    given: of(at({ hostname: 'a_b', nodeName: 'N' })),
    want: [
      `subsets[0].addresses[0].hostname: Invalid value: "a_b": ${label}`,
      'subsets[0].addresses[0].nodeName: Invalid value: "N": a lowercase RFC 1123 subdomain must',
    ],
  },
  {
    name: 'two ports, one without a name',
    given: of(at({}, { port: 80, name: 'a' }, { port: 81 })),
    want: ['subsets[0].ports[1].name: Required value'],
  },
  { name: 'a duplicate port name', given: of(at({}, { port: 80, name: 'a' }, { port: 81, name: 'a' })), want: [] },
  {
    name: 'an invalid port',
    given: of(at({}, { port: 0, name: 'a.b', protocol: 'tcp', appProtocol: '/x' })),
    want: [
      'subsets[0].ports[0].name: Invalid value: "a.b": must not contain dots',
      'subsets[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'subsets[0].ports[0].protocol: Unsupported value: "tcp": supported values: "SCTP", "TCP", "UDP"',
      'subsets[0].ports[0].appProtocol: Invalid value: "/x": prefix part must be non-empty',
    ],
  },
  { name: 'SRV-2 an SRV name', given: of(at({}, { port: 88, srvServiceName: 'kerberos' })), want: [] },
  {
    name: 'SRV-3 an invalid SRV name',
    given: of(at({}, { port: 88, srvServiceName: '_x' })),
    want: [`subsets[0].ports[0].srvServiceName: Invalid value: "_x": ${label}`],
  },
];
for (const { name, given, want } of rows) {
  test(`Endpoints with ${name}`, () => {
    const errors = kind.validateCreate(given, contextWith()).map(({ path, body }) => `${path}: ${body}`);
    assert.equal(errors.length, want.length, errors.join('\n'));
    for (const [index, error] of errors.entries()) assert.ok(error.startsWith(want[index] ?? '?'), error);
  });
}

test('validates changed subsets only', () => {
  const bad = of(at({ ip: 'x' }));
  assert.deepEqual(kind.validateUpdate({ ...bad, metadata: { labels: { a: 'b' } } }, bad, contextWith()), []);
  assert.equal(kind.validateUpdate(of(at({ ip: 'y' })), bad, contextWith()).length, 2);
});

test('accepts loopback addresses in the configured ranges', () => {
  const given = of(at({ ip: '127.192.0.5' }));
  assert.deepEqual(kind.validateCreate(given, contextWith({}, ['127.192.0.0/16'])), []);
});

test('SRV-4 drops the SRV name with the gate disabled, unless it is in use', () => {
  const used = of(at({}, { port: 88, srvServiceName: 'kerberos' }));
  const plain = of(at({}, { port: 88 }));
  const off = contextWith({ SRVServiceName: false });
  assert.deepEqual(kind.prepareForCreate(used, off), plain);
  assert.deepEqual(kind.prepareForUpdate(used, plain, off), plain);
  assert.deepEqual(kind.prepareForUpdate(used, used, off), used);
  assert.deepEqual(kind.prepareForCreate(used, contextWith()), used);
});

const cells: readonly (readonly [given: Endpoints, want: string])[] = [
  [of(), '<none>'],
  [of({ notReadyAddresses: [{ ip: '192.0.2.1' }] }), ''],
  [of(at({})), '192.0.2.1'],
  [of(at({}, { port: 80 }, { port: 81 })), '192.0.2.1:80,192.0.2.1:81'],
  [of(at({ ip: 'fd00::1' }, { port: 80 })), '[fd00::1]:80'],
  [of(at({}, { port: 1 }, { port: 2 }, { port: 3 }, { port: 4 })), '192.0.2.1:1,192.0.2.1:2,192.0.2.1:3 + 1 more...'],
];
for (const [given, want] of cells)
  test(`Endpoints print as ${want}`, () => assert.equal(kind.columns[1]?.cell(given, 0), want));

test('Endpoints are deprecated', () =>
  assert.equal(kind.deprecation, 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice'));
