import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';

import { serviceWith } from '../../testing/service.ts';
import { Allocator } from './allocator.ts';
import { parsePool, parseRange, poolErrors } from './pools.ts';
import type { AllocationRequest } from './allocation-request.ts';
import { allocationAnnotations, allocationRequestOf } from './allocation-request.ts';

const pools = [parsePool('small=192.0.2.1-192.0.2.2,2001:db8::1', true), parsePool('special=198.51.100.7', false)];

/** The request of a Service. */
const requestOf = (name: string, ports = '80/TCP', changes: Partial<AllocationRequest> = {}): AllocationRequest => ({
  ...allocationRequestOf(serviceWith(ports, { name })),
  ...changes,
});

/** The addresses or the fault. */
const given = (allocator: Allocator, request: AllocationRequest): string => {
  const result = allocator.allocate(request);
  return 'code' in result ? `${result.code.slice('fairlead.dev/'.length)}: ${result.message}` : result.join(' ');
};

test('parses ranges: two addresses, a CIDR or one address', () => {
  assert.deepEqual(parseRange('192.0.2.8/30'), { family: 'IPv4', first: 3221225992n, last: 3221225995n });
  assert.deepEqual(parseRange('192.0.2.7'), { family: 'IPv4', first: 3221225991n, last: 3221225991n });
  for (const [text, want] of [
    ['192.0.2.9-192.0.2.1', '"192.0.2.9-192.0.2.1" ends before it begins'],
    ['192.0.2.1-2001:db8::1', '"192.0.2.1-2001:db8::1": both ends must be of the same family'],
    ['here', '"here" is not a range: expected FIRST-LAST, a CIDR or an address'],
  ] as const)
    assert.throws(() => parseRange(text), { message: want });
  assert.throws(() => parsePool('192.0.2.1', true), /expected NAME=RANGE/);
  assert.deepEqual(poolErrors([...pools, parsePool('small=192.0.2.2', true)]), [
    'pool "small" is given twice',
    'pools "small" and "small" have addresses in common',
  ]);
});

test('allocates addresses of automatic pools until none is free, and keeps them', () => {
  const allocator = new Allocator(pools);
  assert.equal(given(allocator, requestOf('a')), '192.0.2.1');
  assert.equal(given(allocator, requestOf('b')), '192.0.2.2');
  assert.equal(given(allocator, requestOf('a', '81/UDP')), '192.0.2.1', 'keeps its address');
  assert.match(given(allocator, requestOf('c')), /^NoFreeAddress: all IPv4 addresses of any automatic pool are in use/);
  allocator.release('default/a');
  assert.equal(given(allocator, requestOf('c')), '192.0.2.1');
});

test('allocates requested addresses and pools, one address per family', () => {
  const allocator = new Allocator(pools);
  assert.equal(given(allocator, requestOf('a', '80/TCP', { pool: 'special' })), '198.51.100.7');
  assert.equal(given(allocator, requestOf('b', '80/TCP', { addresses: ['192.0.2.2'] })), '192.0.2.2');
  assert.equal(given(allocator, requestOf('c', '80/TCP', { families: ['IPv6', 'IPv4'] })), '2001:db8::1 192.0.2.1');
  assert.equal(
    given(new Allocator([]), requestOf('x')),
    'NoFreeAddress: there are no IPv4 addresses in any automatic pool: add some, or request another pool',
  );
  const prefers = requestOf('p', '80/TCP', { families: ['IPv4', 'IPv6'], isSecondOptional: true });
  assert.equal(given(new Allocator([parsePool('four=192.0.2.9', true)]), prefers), '192.0.2.9');
  const refused: readonly (readonly [Partial<AllocationRequest>, RegExp])[] = [
    [
      { addresses: ['203.0.113.1'] },
      /^AddressUnknown: address 203\.0\.113\.1 is in no pool \(pools: small, special\)$/,
    ],
    [{ addresses: ['here'] }, /^AddressUnknown: "here" is not an IPv4 address$|^NoFreeAddress/],
    [{ addresses: ['2001:db8::1'] }, /"2001:db8::1" is not an IPv4 address|NoFreeAddress/],
    [{ addresses: ['192.0.2.1', '192.0.2.2'] }, /only one IPv4 address can be requested/],
    [{ addresses: ['192.0.2.2'], pool: 'special' }, /is in pool "small", but pool "special" was requested/],
    [{ pool: 'none' }, /^NoFreeAddress: there is no pool "none": expected small or special$/],
    [{ families: ['IPv6'] }, /^NoFreeAddress: all IPv6 addresses/],
  ];
  for (const [changes, want] of refused) assert.match(given(allocator, requestOf('d', '80/TCP', changes)), want);
  assert.deepEqual(allocator.addressesOf('default/d'), []);
});

const sharing: readonly (readonly [what: string, one: AllocationRequest, other: AllocationRequest, want: RegExp])[] = [
  [
    'TCP and UDP of one number, by a key',
    requestOf('a', '53/TCP', { sharingKey: 'dns' }),
    requestOf('b', '53/UDP', { sharingKey: 'dns' }),
    /^192\.0\.2\.1$/,
  ],
  [
    'Services of two namespaces, by a key',
    requestOf('a', '53/TCP', { sharingKey: 'dns' }),
    requestOf('b', '53/UDP', { sharingKey: 'dns', key: 'other/b' }),
    /^192\.0\.2\.1$/,
  ],
  [
    'Local with the same Pods',
    requestOf('a', '53/TCP', { sharingKey: 'dns', backendKey: 'app=a' }),
    requestOf('b', '53/UDP', { sharingKey: 'dns', backendKey: 'app=a' }),
    /^192\.0\.2\.1$/,
  ],
  [
    'Local beside Cluster',
    requestOf('a', '53/TCP', { sharingKey: 'dns', backendKey: 'app=a' }),
    requestOf('b', '53/UDP', { sharingKey: 'dns', addresses: ['192.0.2.1'] }),
    /externalTrafficPolicy Local/,
  ],
  [
    'one port twice',
    requestOf('a', '53/TCP', { sharingKey: 'dns' }),
    requestOf('b', '53/TCP 53/UDP', { sharingKey: 'dns', addresses: ['192.0.2.1'] }),
    /Service default\/a: port 53\/TCP is taken$/,
  ],
  [
    'another key',
    requestOf('a', '53/TCP', { sharingKey: 'dns' }),
    requestOf('b', '53/UDP', { sharingKey: 'x', addresses: ['192.0.2.1'] }),
    /its sharing key is "dns", not "x"$/,
  ],
  [
    'no key here',
    requestOf('a', '53/TCP', { sharingKey: 'dns' }),
    requestOf('b', '53/UDP', { addresses: ['192.0.2.1'] }),
    /this Service has no sharing key$/,
  ],
  [
    'no key there',
    requestOf('a', '53/TCP'),
    requestOf('b', '53/UDP', { sharingKey: 'dns', addresses: ['192.0.2.1'] }),
    /that Service has no sharing key$/,
  ],
  [
    'Local with other Pods',
    requestOf('a', '53/TCP', { sharingKey: 'dns', backendKey: 'app=a' }),
    requestOf('b', '53/UDP', { sharingKey: 'dns', backendKey: 'app=b', addresses: ['192.0.2.1'] }),
    /externalTrafficPolicy Local/,
  ],
];
for (const [what, one, other, want] of sharing) {
  test(`LB-24 ${what}`, () => {
    const allocator = new Allocator(pools);
    assert.equal(given(allocator, one), '192.0.2.1');
    assert.match(given(allocator, other), want);
  });
}

test('a refusal names the Service that uses the address only within its namespace', () => {
  const secret = { sharingKey: 'secret-key', backendKey: 'app=secret-app', key: 'hidden/secret-name' };
  const tenant: readonly Partial<AllocationRequest>[] = [
    {},
    { sharingKey: 'mine' },
    { sharingKey: 'secret-key' },
    { sharingKey: 'secret-key', backendKey: 'app=mine', ports: [{ port: 81, protocol: 'TCP' }] },
  ];
  for (const own of [secret, { ...secret, sharingKey: '' }]) {
    for (const changes of tenant) {
      const allocator = new Allocator(pools);
      assert.equal(given(allocator, requestOf('a', '80/TCP', own)), '192.0.2.1');
      const refused = given(allocator, requestOf('b', '80/TCP', { ...changes, addresses: ['192.0.2.1'] }));
      assert.match(refused, /^AddressInUse: address 192\.0\.2\.1 is in use by another Service: /);
      const others = refused.replaceAll(`"${changes.sharingKey ?? ''}"`, '');
      assert.doesNotMatch(others, /hidden|secret/);
    }
  }
});

test('reads requests from our annotations, those of MetalLB, and the field', () => {
  const read = (annotations: Record<string, string>, loadBalancerIP?: string): AllocationRequest =>
    allocationRequestOf(
      serviceWith('80/TCP', { annotations, ...(loadBalancerIP === undefined ? {} : { spec: { loadBalancerIP } }) }),
    );
  assert.deepEqual(read({}, '192.0.2.1').addresses, ['192.0.2.1']);
  assert.deepEqual(read({ [allocationAnnotations.addresses]: '192.0.2.1, 2001:DB8::1' }).addresses, [
    '192.0.2.1',
    '2001:db8::1',
  ]);
  assert.deepEqual(read({ 'metallb.io/loadBalancerIPs': '192.0.2.3' }, '192.0.2.1').addresses, ['192.0.2.3']);
  assert.equal(read({ 'metallb.io/address-pool': 'x' }).pool, 'x');
  assert.equal(read({ [allocationAnnotations.sharingKey]: 'a', 'metallb.io/allow-shared-ip': 'b' }).sharingKey, 'a');
});

test('LB-24 never allocates a port of an address twice, and can rebuild its state', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', 'e');
  const request = fc.record({
    name,
    ports: fc.uniqueArray(fc.constantFrom('53/TCP', '53/UDP', '80/TCP'), { minLength: 1 }),
    sharingKey: fc.constantFrom('', 'x', 'y'),
    pool: fc.constantFrom('', 'special'),
    addresses: fc.constantFrom([], ['192.0.2.1'], ['192.0.2.2']),
  });
  const step = fc.oneof(request, name);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      let allocator = new Allocator(pools);
      const now = new Map<string, AllocationRequest>();
      for (const each of steps) {
        if (typeof each === 'string') {
          allocator.release(`default/${each}`);
          now.delete(each);
          continue;
        }
        const desired = requestOf(each.name, each.ports.join(' '), {
          sharingKey: each.sharingKey,
          pool: each.pool,
          addresses: each.addresses,
        });
        const before = allocator.addressesOf(desired.key);
        if ('code' in allocator.allocate(desired)) assert.deepEqual(allocator.addressesOf(desired.key), before);
        else now.set(each.name, desired);
        const taken = [...now.values()].flatMap(({ key, ports }) =>
          allocator
            .addressesOf(key)
            .flatMap((address) => ports.map(({ port, protocol }) => `${address} ${port}/${protocol}`)),
        );
        assert.deepEqual(taken, [...new Set(taken)]);
        const rebuilt = new Allocator(pools);
        for (const known of now.values()) rebuilt.adopt(known, allocator.addressesOf(known.key));
        for (const { key } of now.values()) assert.deepEqual(rebuilt.addressesOf(key), allocator.addressesOf(key));
        allocator = rebuilt;
      }
    }),
    { numRuns: 200 },
  );
});
