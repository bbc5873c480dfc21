import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RegistryOptions } from './registry.ts';
import { parseOwnership, printOwnership, registryName } from './registry.ts';

const none: RegistryOptions = { ownerId: 'me', prefix: '', suffix: '', wildcardReplacement: '' };
const sets = [
  ['www.example.org', 'A'],
  ['_k._tcp.idm.example.org', 'SRV'],
  ['*.w.example.org', 'A'],
  ['example.org', 'A'],
] as const;

describe('names of registry records equal those of ExternalDNS', () => {
  const rows: readonly {
    readonly name: string;
    readonly options: Partial<RegistryOptions>;
    readonly want: readonly string[];
  }[] = [
    {
      name: 'without options',
      options: {},
      want: ['a-www.example.org', 'srv-_k._tcp.idm.example.org', 'a-*.w.example.org', 'a-example.org'],
    },
    {
      name: 'with a prefix',
      options: { prefix: 'x-' },
      want: ['x-a-www.example.org', 'x-srv-_k._tcp.idm.example.org', 'x-a-*.w.example.org', 'x-a-example.org'],
    },
    {
      name: 'with a prefix that contains the type',
      options: { prefix: '%{record_type}-own.' },
      want: ['a-own.www.example.org', 'srv-own._k._tcp.idm.example.org', 'a-own.*.w.example.org', 'a-own.example.org'],
    },
    {
      name: 'with a suffix',
      options: { suffix: '-sfx' },
      want: ['a-www-sfx.example.org', 'srv-_k-sfx._tcp.idm.example.org', 'a-*-sfx.w.example.org', 'a-example-sfx.org'],
    },
    {
      name: 'with a suffix that contains the type',
      options: { suffix: '-%{record_type}' },
      want: ['www-a.example.org', '_k-srv._tcp.idm.example.org', '*-a.w.example.org', 'example-a.org'],
    },
    {
      name: 'with a replacement of wildcards',
      options: { wildcardReplacement: 'any' },
      want: ['a-www.example.org', 'srv-_k._tcp.idm.example.org', 'a-any.w.example.org', 'a-example.org'],
    },
  ];
  for (const { name, options, want } of rows)
    test(name, () =>
      assert.deepEqual(
        sets.map(([owner, type]) => registryName(owner, type, { ...none, ...options })),
        want,
      ),
    );
});

describe('values of registry records', () => {
  const value = '"heritage=external-dns,external-dns/owner=me,external-dns/resource=service/default/shop"';

  test('are those of ExternalDNS, with sorted keys', () => {
    assert.equal(printOwnership({ owner: 'me', resource: 'service/default/shop', others: new Map() }), value);
    assert.deepEqual(parseOwnership(value), { owner: 'me', resource: 'service/default/shop', others: new Map() });
  });

  for (const foreign of ['"v=spf1 -all"', '"heritage=other,external-dns/owner=me"', '"heritage=external-dns"', '', '"'])
    test(`${foreign} names no owner`, () => assert.equal(parseOwnership(foreign), undefined));
});
