import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  addressErrors,
  addressWarnings,
  canonicalAddressErrors,
  canonicalCidrErrors,
  cidrErrors,
  cidrWarnings,
  endpointAddressErrors,
} from './address-errors.ts';
import { canonicalAddress, canonicalCidr, contains, familyOf, parseAddress, parseCidr } from './addresses.ts';

const notAnAddress = 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)';
const notACidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';

const forms: readonly (readonly [given: string, want: string | undefined, family?: string])[] = [
  ['10.0.0.1', '10.0.0.1', 'IPv4'],
  ['010.000.0.1', '10.0.0.1', 'IPv4'],
  ['::ffff:10.0.0.1', '10.0.0.1', 'IPv4'],
  ['::ffff:010.0.0.1', '10.0.0.1', 'IPv4'],
  ['::FFFF:a00:1', '10.0.0.1', 'IPv4'],
  ['::1.2.3.4', '::102:304', 'IPv6'],
  ['FD00:0:0::9', 'fd00::9', 'IPv6'],
  ['::', '::', 'IPv6'],
  ['fe80::1%eth0', undefined],
  ['256.0.0.1', undefined],
  ['1.2.3', undefined],
  ['1.2.3.4.5', undefined],
  ['1.2.3.4/32', undefined],
  ['1::2::3', undefined],
  ['::1.2.3', undefined],
  [' 10.0.0.1', undefined],
  ['None', undefined],
  ['', undefined],
];
for (const [given, want, family] of forms) {
  test(`the address ${JSON.stringify(given)} is ${want}`, () => {
    assert.equal(canonicalAddress(given), want);
    assert.equal(familyOf(given), family);
  });
}

const ranges: readonly (readonly [given: string, want: string | undefined])[] = [
  ['10.1.2.3/8', '10.0.0.0/8'],
  ['10.0.0.0/08', '10.0.0.0/8'],
  ['::ffff:1.2.3.4/120', '1.2.3.0/24'],
  ['::ffff:1.2.3.4/64', '::/64'],
  ['FD00::1/64', 'fd00::/64'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['10.0.0.0/33', undefined],
  ['fd00::/129', undefined],
  ['10.0.0.0/', undefined],
  ['10.0.0.0/+8', undefined],
  ['10.0.0.0', undefined],
];
for (const [given, want] of ranges) {
  test(`the CIDR ${given} is ${want}`, () => assert.equal(canonicalCidr(given), want));
}

test('parses addresses as Node does, and prints what parses to the same address', () => {
  fc.assert(
    fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
      const canonical = canonicalAddress(text);
      assert.ok(isIP(text) !== 0 && canonical !== undefined && isIP(canonical) !== 0, text);
      assert.equal(canonicalAddress(canonical), canonical);
      assert.equal(parseAddress(canonical)?.value, parseAddress(text)?.value);
    }),
  );
});

test('rejects what Node rejects, except for leading zeros', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[0-9a-f:.]{1,20}$/), (text) => {
      const address = parseAddress(text);
      if (address === undefined) assert.equal(isIP(text), 0, text);
      else if (isIP(text) === 0) assert.ok(address.hasLeadingZeros, text);
    }),
    { numRuns: 1000 },
  );
});

test('rejects text that is too long', () => {
  for (const part of ['0', ':', '1:', '1.', '::ffff:', '%']) {
    assert.equal(parseAddress(part.repeat(1_000_000)), undefined);
    assert.equal(parseCidr(`${part.repeat(1_000_000)}/8`), undefined);
  }
});

test('a range contains its own addresses and no others', () => {
  const cidr = parseCidr('10.1.0.0/16');
  const inside = parseAddress('10.1.255.255');
  const outside = parseAddress('10.2.0.0');
  const other = parseAddress('fd00::1');
  assert.ok(cidr && inside && outside && other);
  assert.deepEqual(
    [inside, outside, other].map((address) => contains(cidr, address)),
    [true, false, false],
  );
});

const checks: readonly (readonly [name: string, errors: readonly string[], want: readonly string[]])[] = [
  ['lenient takes leading zeros', addressErrors('010.0.0.1', false), []],
  ['lenient takes mapped', addressErrors('::ffff:10.0.0.1', false), []],
  ['lenient refuses the rest', addressErrors('web', false), [notAnAddress]],
  ['strict refuses leading zeros', addressErrors('010.0.0.1', true), ['must not have leading 0s']],
  ['strict refuses mapped', addressErrors('::ffff:1.2.3.4', true), ['must not be an IPv4-mapped IPv6 address']],
  ['strict takes other forms', addressErrors('FD00::1', true), []],
  ['canonical refuses other forms', canonicalAddressErrors('FD00::1'), ['must be in canonical form ("fd00::1")']],
  ['lenient takes host bits', cidrErrors('10.1.2.3/8', false), []],
  ['lenient rejects text that is not a CIDR', cidrErrors('10.1.2.3', false), [notACidr]],
  ['strict refuses host bits', cidrErrors('10.1.2.3/8', true), ['must not have bits set beyond the prefix length']],
  ['strict refuses zeros', cidrErrors('10.0.0.0/08', true), ['must not have leading 0s in IP or prefix length']],
  [
    'strict refuses mapped CIDRs',
    cidrErrors('::ffff:1.2.3.0/120', true),
    ['must not have an IPv4-mapped IPv6 address'],
  ],
  ['canonical refuses other CIDRs', canonicalCidrErrors('FD00::/64'), ['must be in canonical form ("fd00::/64")']],
  ['an endpoint has an address', endpointAddressErrors('web', []), ['must be a valid IP address']],
  ['an endpoint is somewhere', endpointAddressErrors('::', []), ['may not be unspecified (::)']],
  [
    'an endpoint is not loopback',
    endpointAddressErrors('127.0.0.1', []),
    ['may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ],
  ['unless that range is allowed', endpointAddressErrors('127.192.0.1', ['fd00::/8', '127.192.0.0/16']), []],
  [
    'and only in that range',
    endpointAddressErrors('127.0.0.1', ['127.192.0.0/16']),
    ['may not be in the loopback range (127.0.0.0/8, ::1/128)'],
  ],
  [
    'an endpoint is not link-local',
    endpointAddressErrors('fe80::1', []),
    ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  ],
  [
    'nor link-local multicast',
    endpointAddressErrors('224.0.0.5', []),
    ['may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'],
  ],
  ['but may be other multicast', endpointAddressErrors('224.0.1.5', []), []],
  [
    'a warning for zeros',
    addressWarnings('ip', '010.0.0.1'),
    [
      'ip: non-standard IP address "010.0.0.1" will be considered invalid in a future Kubernetes release: use "10.0.0.1"',
    ],
  ],
  [
    'a warning for IPv6 forms',
    addressWarnings('ip', 'FE80::1'),
    ['ip: IPv6 address "FE80::1" should be in RFC 5952 canonical format ("fe80::1")'],
  ],
  ['no warning for what is canonical', addressWarnings('ip', 'fd00::1'), []],
  [
    'a warning for host bits',
    cidrWarnings('c', '10.1.2.3/8'),
    ['c: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)'],
  ],
  [
    'a warning for mapped CIDRs',
    cidrWarnings('c', '::ffff:1.2.3.0/120'),
    [
      'c: non-standard CIDR value "::ffff:1.2.3.0/120" will be considered invalid in a future Kubernetes release: use "1.2.3.0/24"',
    ],
  ],
];
for (const [name, errors, want] of checks) test(`addresses: ${name}`, () => assert.deepEqual(errors, want));
