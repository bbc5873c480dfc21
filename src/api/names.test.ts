import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  domainPrefixedPathErrors,
  generateName,
  labelName,
  labelValueErrors,
  pathSegmentErrors,
  portNameErrors,
  portNumberErrors,
  qualifiedNameErrors,
  rfc1035Name,
  subdomainName,
  wildcardSubdomainErrors,
} from './names.ts';

const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const rfc1035 =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const wildcard =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const part =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

type Row = readonly [check: (text: string) => readonly string[], given: string, want: readonly string[]];
const rows: readonly Row[] = [
  [dnsLabelErrors, '1a-b', []],
  [dnsLabelErrors, 'a'.repeat(63), []],
  [dnsLabelErrors, 'a'.repeat(64), ['must be no more than 63 characters']],
  [dnsLabelErrors, 'a.b', ['must not contain dots']],
  [dnsLabelErrors, '', [label]],
  [dnsLabelErrors, '_kerberos', [label]],
  [dnsLabelErrors, `A${'b'.repeat(70)}`, ['must be no more than 63 characters', label]],
  [dnsLabelErrors, 'é'.repeat(32), ['must be no more than 63 characters', label]],
  [dnsSubdomainErrors, 'a.b-c.1', []],
  [dnsSubdomainErrors, `${'a'.repeat(70)}.org`, []],
  [dnsSubdomainErrors, 'a..b', [subdomain]],
  [dnsSubdomainErrors, 'A', [subdomain]],
  [dnsSubdomainErrors, 'a'.repeat(254), ['must be no more than 253 characters']],
  [dns1035LabelErrors, 'a1', []],
  [dns1035LabelErrors, '1a', [rfc1035]],
  [dns1035LabelErrors, 'a.b', [rfc1035]],
  [wildcardSubdomainErrors, '*.example.org', []],
  [wildcardSubdomainErrors, '*', [wildcard]],
  [wildcardSubdomainErrors, '*.*.org', [wildcard]],
  [qualifiedNameErrors, 'http', []],
  [qualifiedNameErrors, 'example.org/My_Name.1', []],
  [qualifiedNameErrors, '', ['name part must be non-empty', `name part ${part}`]],
  [qualifiedNameErrors, '/a', ['prefix part must be non-empty']],
  [qualifiedNameErrors, 'example.org/', ['name part must be non-empty', `name part ${part}`]],
  [qualifiedNameErrors, `${'a.'.repeat(127)}a/x`, ['prefix part must be no more than 253 bytes']],
  [qualifiedNameErrors, 'Example.org/a', [`prefix part ${subdomain}`]],
  [qualifiedNameErrors, 'a'.repeat(64), ['name part must be no more than 63 bytes']],
  [
    qualifiedNameErrors,
    'a/b/c',
    [`a valid label key ${part} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
  ],
  [labelValueErrors, '', []],
  [labelValueErrors, 'v_1.2', []],
  [labelValueErrors, '-x', [value]],
  [portNameErrors, 'http-2', []],
  [
    portNameErrors,
    '-12--34567890123',
    [
      'must be no more than 15 characters',
      'must contain at least one letter (a-z)',
      'must not contain consecutive hyphens',
      'must not begin or end with a hyphen',
    ],
  ],
  [
    portNameErrors,
    'HTTP',
    [
      'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
      'must contain at least one letter (a-z)',
    ],
  ],
  [pathSegmentErrors, '..', ["may not be '..'"]],
  [pathSegmentErrors, 'a/b%', ["may not contain '/'", "may not contain '%'"]],
  [(text) => portNumberErrors(Number(text)), '65535', []],
  [(text) => portNumberErrors(Number(text)), '0', ['must be between 1 and 65535, inclusive']],
  [(text) => portNumberErrors(Number(text)), '65536', ['must be between 1 and 65535, inclusive']],
];
for (const [check, given, want] of rows) {
  test(`${check.name || 'portNumberErrors'} of ${JSON.stringify(given)}`, () => assert.deepEqual(check(given), want));
}

test('a prefix may end in a hyphen', () => {
  for (const rule of [subdomainName, labelName, rfc1035Name]) {
    assert.deepEqual(rule('web-', true), []);
    assert.equal(rule('web-', false).length, 1);
    assert.equal(rule('Web-', true).length, 1);
  }
});

test('errors of a domain-prefixed path contain the invalid part', () => {
  assert.deepEqual(domainPrefixedPathErrors('example.org/ingress/v1'), []);
  assert.deepEqual(
    ['ingress', '/x', 'x/'].map((text) => domainPrefixedPathErrors(text)[0]?.message),
    Array(3).fill('must be a domain-prefixed path (such as "acme.io/foo")'),
  );
  assert.deepEqual(domainPrefixedPathErrors('example.org/a b'), [
    {
      part: 'a b',
      message: "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')",
    },
  ]);
});

test('a generated name has at most 63 characters and is valid for a valid prefix', () => {
  assert.equal(
    generateName('web-', () => 0),
    'web-bbbbb',
  );
  fc.assert(
    fc.property(
      fc.stringMatching(/^[a-z][-a-z0-9]{0,80}$/),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (prefix, random) => {
        const name = generateName(prefix, () => random);
        assert.ok(name.length <= 63 && name.startsWith(prefix.slice(0, 58)));
        assert.deepEqual(dns1035LabelErrors(name), []);
      },
    ),
  );
});
