import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cookies } from './cookie.ts';
import { sipHash, sipKey } from './siphash.ts';

const bytesOf = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, 'hex'));
const hexOf = (bytes: Uint8Array | undefined): string | undefined => bytes && Buffer.from(bytes).toString('hex');

// From the reference implementation's table: the key is 00 01 … 0f, the message 00 01 … up to its length.
const hashes = [
  { length: 0, want: '310e0edd47db6f72' },
  { length: 1, want: 'fd67dc93c539f874' },
  { length: 7, want: '37d1018bf50002ab' },
  { length: 8, want: '6224939a79f5f593' },
  { length: 15, want: 'e545be4961ca29a1' },
];

for (const { length, want } of hashes) {
  test(`SipHash-2-4 of ${length} bytes`, () => {
    const key = sipKey(Uint8Array.from({ length: 16 }, (_, index) => index));
    assert.equal(
      hexOf(
        sipHash(
          key,
          Uint8Array.from({ length }, (_, index) => index),
        ),
      ),
      want,
    );
  });
}

const secret = 'e5e973e5a6b2a43f48e7dc849e37bfcf';
const recent = '2464c4abcf10c957010000005cf79f111f8130c3eee29480';

// The examples of RFC 9018 appendix A, and cases from its text.
const cases = [
  { name: 'A.1 a new server cookie', option: '2464c4abcf10c957', now: 1_559_731_985, isGood: false, want: recent },
  {
    name: 'A.2 an old cookie is renewed',
    option: recent,
    now: 1_559_734_385,
    isGood: true,
    want: '2464c4abcf10c957010000005cf7a871d4a564a1442aca77',
  },
  {
    name: 'A.3 reserved bytes are hashed as received, and not returned',
    address: '203.0.113.203',
    option: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
    now: 1_559_727_985,
    isGood: true,
  },
  {
    name: 'A.3 an expired cookie is replaced',
    address: '203.0.113.203',
    option: 'fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5',
    now: 1_559_734_700,
    isGood: false,
    want: 'fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e',
  },
  {
    name: 'A.4 IPv6, made with the previous secret',
    secrets: ['445536bcd2513298075a5d379663c962', 'dd3bdf9344b678b185a6f5cb60fca715'],
    address: '2001:db8:220:1:59de:d0f4:8769:82b8',
    option: '22681ab97d52c298010000005cf7c57926556bd0934c72f8',
    now: 1_559_741_961,
    isGood: true,
    want: '22681ab97d52c298010000005cf7c609a6bb79d16625507a',
  },
  { name: 'a recent cookie is kept', option: recent, now: 1_559_731_985 + 1800, isGood: true, want: recent },
  {
    name: 'an IPv4-mapped address counts as IPv4',
    address: '::ffff:198.51.100.100',
    option: recent,
    now: 1_559_731_985,
    isGood: true,
  },
  { name: "somebody else's address", address: '198.51.100.101', option: recent, now: 1_559_731_985, isGood: false },
  { name: 'from the future', option: recent, now: 1_559_731_985 - 301, isGood: false },
  { name: 'a clock slightly off', option: recent, now: 1_559_731_985 - 300, isGood: true, want: recent },
  { name: 'changed', option: recent.replace(/80$/, '81'), now: 1_559_731_985, isGood: false, want: recent },
  {
    name: 'of another version',
    option: `2464c4abcf10c957${'02'.repeat(8)}`,
    now: 1_559_731_985,
    isGood: false,
    want: recent,
  },
];

for (const { name, secrets = [secret], address = '198.51.100.100', option, now, isGood, want } of cases) {
  test(`cookies: ${name}`, () => {
    const verdict = new Cookies({ secrets: secrets.map(bytesOf) }).check(bytesOf(option), address, now);
    assert.equal(verdict?.isGood, isGood);
    if (want !== undefined) assert.equal(hexOf(verdict?.option), want);
  });
}

for (const length of [0, 7, 9, 15, 41]) {
  test(`a cookie of ${length} bytes is malformed`, () =>
    assert.equal(new Cookies({ secrets: [bytesOf(secret)] }).check(new Uint8Array(length), '192.0.2.1', 0), undefined));
}

test('requires a secret of 16 bytes', () => {
  assert.throws(() => new Cookies({ secrets: [] }), /the same to every replica/);
  assert.throws(() => new Cookies({ secrets: [bytesOf('00')] }), /16 bytes, not 1/);
});
