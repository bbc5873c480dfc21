import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { Answer, Packet } from 'dns-packet';
import { AUTHENTIC_DATA, encode } from 'dns-packet';
import fc from 'fast-check';

import { types } from '../../dnswire/codes.ts';
import type { Message } from '../../dnswire/message.ts';
import { readMessage } from '../../dnswire/message.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { readData } from '../../dnswire/record.ts';
import { extract } from './extract.ts';

function message(answers: readonly Answer[], authorities: readonly Answer[] = [], more: Packet = {}): Message {
  const bytes = encode({ type: 'response', answers: [...answers], authorities: [...authorities], ...more });
  const read = readMessage(bytes);
  assert.ok(read !== undefined);
  return read;
}

/** `owner ttl type data`, as in a zone file. */
function record(line: string): Answer {
  const [name = '', ttl = '', type = '', ...rest] = line.split(' ');
  const data =
    type === 'SOA'
      ? { mname: 'ns', rname: 'host', serial: 1, refresh: 1, retry: 1, expire: 1, minimum: Number(rest[0]) }
      : rest.join(' ');
  // A cast: the types of the codec cannot be derived from text.
  return { name, ttl: Number(ttl), type, data } as unknown as Answer;
}

function print({ owner, ttl, type, data }: RawRecord): string {
  const read = readData(type, data);
  if (read?.type === 'A' || read?.type === 'AAAA') return `${owner} ${ttl} ${read.type} ${read.address}`;
  if (read?.type === 'CNAME' || read?.type === 'NS') return `${owner} ${ttl} ${read.type} ${read.target}`;
  if (read?.type === 'SOA') return `${owner} ${ttl} SOA ${read.minimum}`;
  return `${owner} ${ttl} TYPE${type}`;
}

suite('extract', () => {
  const table: readonly {
    name: string;
    answers?: readonly string[];
    authority?: readonly string[];
    rcode?: number;
    want: readonly string[];
    wantAuthority?: readonly string[];
    kind: string;
    ttl: number;
  }[] = [
    {
      name: 'addresses',
      answers: ['www.example.org 60 A 192.0.2.1', 'www.example.org 60 A 192.0.2.2'],
      want: ['www.example.org 60 A 192.0.2.1', 'www.example.org 60 A 192.0.2.2'],
      kind: 'positive',
      ttl: 60,
    },
    {
      name: 'the lowest TTL of an RRset (RFC 2181)',
      answers: ['www.example.org 60 A 192.0.2.1', 'www.example.org 20 A 192.0.2.2'],
      want: ['www.example.org 20 A 192.0.2.1', 'www.example.org 20 A 192.0.2.2'],
      kind: 'positive',
      ttl: 20,
    },
    {
      name: 'aliases in any order, with the lowest TTL',
      answers: [
        'c.example.net 300 A 192.0.2.1',
        'b.example.org 5 CNAME c.example.net',
        'www.example.org 60 CNAME b.example.org',
      ],
      want: [
        'www.example.org 60 CNAME b.example.org',
        'b.example.org 5 CNAME c.example.net',
        'c.example.net 300 A 192.0.2.1',
      ],
      kind: 'positive',
      ttl: 5,
    },
    {
      name: 'no unrelated records',
      answers: [
        'www.example.org 60 A 192.0.2.1',
        'bank.example.com 9999 A 203.0.113.66',
        'www.example.org 60 AAAA 2001:db8::1',
      ],
      authority: ['example.com 9999 NS evil.example.com'],
      want: ['www.example.org 60 A 192.0.2.1'],
      kind: 'positive',
      ttl: 60,
    },
    {
      name: 'no records of other names',
      answers: ['bank.example.com 9999 A 203.0.113.66'],
      want: [],
      kind: 'negative',
      ttl: 0,
    },
    {
      name: 'NODATA with the minimum of the SOA',
      authority: ['example.org 600 SOA 30'],
      want: [],
      wantAuthority: ['example.org 600 SOA 30'],
      kind: 'negative',
      ttl: 30,
    },
    {
      name: 'NXDOMAIN with the TTL of the SOA',
      rcode: 3,
      authority: ['org 20 SOA 3600'],
      want: [],
      wantAuthority: ['org 20 SOA 3600'],
      kind: 'negative',
      ttl: 20,
    },
    { name: 'NXDOMAIN without a SOA, not cacheable (RFC 2308)', rcode: 3, want: [], kind: 'negative', ttl: 0 },
    {
      name: 'no SOA of another zone',
      rcode: 3,
      authority: ['example.com 20 SOA 3600'],
      want: [],
      kind: 'negative',
      ttl: 0,
    },
    {
      name: 'an alias to a missing name with the SOA of its target',
      rcode: 3,
      answers: ['www.example.org 7 CNAME gone.example.net'],
      authority: ['example.net 600 SOA 30', 'example.org 600 SOA 40'],
      want: ['www.example.org 7 CNAME gone.example.net'],
      wantAuthority: ['example.net 600 SOA 30'],
      kind: 'negative',
      ttl: 7,
    },
    {
      name: 'an alias loop',
      answers: ['www.example.org 7 CNAME b.example.org', 'b.example.org 7 CNAME www.example.org'],
      want: ['www.example.org 7 CNAME b.example.org', 'b.example.org 7 CNAME www.example.org'],
      kind: 'negative',
      ttl: 0,
    },
    {
      name: 'SERVFAIL as a failure',
      rcode: 2,
      answers: ['www.example.org 60 A 192.0.2.1'],
      want: [],
      kind: 'failure',
      ttl: 0,
    },
    {
      name: 'TTL 0 if its first bit is set (RFC 2181)',
      answers: ['www.example.org 4294967295 A 192.0.2.1'],
      want: ['www.example.org 0 A 192.0.2.1'],
      kind: 'positive',
      ttl: 0,
    },
  ];
  for (const { name, answers = [], authority = [], rcode = 0, want, wantAuthority = [], kind, ttl } of table) {
    test(name, () => {
      const given = message(answers.map(record), authority.map(record), { flags: rcode });
      const got = extract({ name: 'www.example.org', type: types.A, class: 1 }, given);
      assert.deepEqual(got.answer.answers.map(print), want);
      assert.deepEqual(got.answer.authority.map(print), wantAuthority);
      assert.deepEqual({ kind: got.kind, ttl: got.ttl }, { kind, ttl });
    });
  }

  test('keeps the DNAME record of a synthesized alias', () => {
    const given = message([
      record('example.org 60 DNAME example.net'),
      record('www.example.org 60 CNAME www.example.net'),
      record('www.example.net 60 A 192.0.2.1'),
    ]);
    const got = extract({ name: 'www.example.org', type: types.A, class: 1 }, given);
    assert.deepEqual(
      got.answer.answers.map(({ type }) => type),
      [types.DNAME, types.CNAME, types.A],
    );
  });

  test('keeps the AD flag', () => {
    const question = { name: 'www.example.org', type: types.A, class: 1 };
    assert.equal(extract(question, message([], [], { flags: AUTHENTIC_DATA })).answer.authentic, true);
    assert.equal(extract(question, message([])).answer.authentic, undefined);
  });

  test('keeps only records of the alias chain', () => {
    const names = ['www.example.org', 'a.example.org', 'b.example.net', 'c.example.com'];
    const line = fc.record({
      owner: fc.constantFrom(...names),
      target: fc.constantFrom(...names),
      isAlias: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        const given = lines.map(({ owner, target, isAlias }) =>
          record(isAlias ? `${owner} 5 CNAME ${target}` : `${owner} 5 A 192.0.2.1`),
        );
        const { answer } = extract({ name: 'www.example.org', type: types.A, class: 1 }, message(given));
        const reachable = new Set(['www.example.org']);
        for (const each of answer.answers) {
          assert.ok(reachable.has(each.owner), `${each.owner} is not on the way`);
          const data = readData(each.type, each.data);
          if (data?.type === 'CNAME') reachable.add(data.target);
        }
      }),
    );
  });
});
