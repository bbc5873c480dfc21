import assert from 'node:assert/strict';
import { test } from 'node:test';
import dnsPacket from 'dns-packet';
import { parseCidr } from '../../api/addresses.ts';
import type { UpstreamAnswer } from '../resolver.ts';
import { emptyAnswer } from '../resolver.ts';
import type { QueryClient } from '../prepared.ts';
import type { RecordData } from '../../dnswire/data.ts';
import { recordTypes } from '../../dnswire/data.ts';
import { extendedErrors, flagBits, optionCodes, rcodeName, rcodes, typeName, types } from '../../dnswire/codes.ts';
import type { Message, Question } from '../../dnswire/message.ts';
import { rcodeOf, readMessage } from '../../dnswire/message.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import { Cookies } from '../message/cookie.ts';
import type { SlowPathOptions } from './slow-path.ts';
import { slowPath } from './slow-path.ts';
import { printEntry } from '../message/print.ts';
import type { QueryOptions } from './testing/sample.ts';
import { queryBytes, sampleZones } from './testing/sample.ts';
import { Transfers } from './transfer.ts';

const svc = 'svc.cluster.local';
const friend: QueryClient = { address: '10.1.0.9', port: 5353, protocol: 'udp' };
const stranger: QueryClient = { address: '203.0.113.9', port: 5353, protocol: 'udp' };

const raw = (owner: string, data: RecordData, ttl = 60): RawRecord => ({
  owner,
  type: recordTypes[data.type],
  class: 1,
  ttl,
  data: encodeRecord(data) ?? assert.fail(),
});
const timers = { serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 60 };
const outsideSoa = raw('example.org', { type: 'SOA', primary: 'ns.example.org', mailbox: 'x.example.org', ...timers });
const found = (...answers: RawRecord[]): UpstreamAnswer => ({ ...emptyAnswer(rcodes.NOERROR), answers });

/** Answers of the upstream. */
const world: Readonly<Record<string, UpstreamAnswer>> = {
  'www.example.org A': found(raw('www.example.org', { type: 'A', address: '192.0.2.80' })),
  'www.example.org AAAA': found(raw('www.example.org', { type: 'AAAA', address: '2001:db8::80' })),
  'www.example.org TXT': { ...emptyAnswer(rcodes.NOERROR), authority: [outsideSoa] },
  'alias.example.org A': found(
    raw('alias.example.org', { type: 'CNAME', target: 'www.example.org' }),
    raw('www.example.org', { type: 'A', address: '192.0.2.80' }),
  ),
  'stale.example.org A': { ...found(raw('stale.example.org', { type: 'A', address: '192.0.2.81' }, 30)), stale: true },
  'broken.example.org A': emptyAnswer(rcodes.SERVFAIL, { code: extendedErrors.NO_REACHABLE_AUTHORITY, text: 'gone' }),
  'refused.example.org A': emptyAnswer(rcodes.REFUSED),
  // Upstream records of our zones, which must be ignored.
  'inward.example.org A': found(
    raw('inward.example.org', { type: 'CNAME', target: `v4.default.${svc}` }),
    raw(`v4.default.${svc}`, { type: 'A', address: '203.0.113.66' }),
  ),
  'inward.example.org CNAME': found(raw('inward.example.org', { type: 'CNAME', target: `v4.default.${svc}` })),
  'twice.example.org A': found(
    raw('twice.example.org', { type: 'CNAME', target: 'inward.example.org' }),
    raw('inward.example.org', { type: 'CNAME', target: `outside.default.${svc}` }),
    raw(`outside.default.${svc}`, { type: 'CNAME', target: 'evil.example.org' }),
    raw('evil.example.org', { type: 'A', address: '203.0.113.66' }),
  ),
  'denied.example.org A': found(
    raw('denied.example.org', { type: 'CNAME', target: `nobody.default.${svc}` }),
    raw(`nobody.default.${svc}`, { type: 'A', address: '203.0.113.66' }),
  ),
  'circle.example.org A': found(raw('circle.example.org', { type: 'CNAME', target: `circle.default.${svc}` })),
  'proven.example.org A': {
    ...found(raw('proven.example.org', { type: 'A', address: '192.0.2.82' })),
    authentic: true,
  },
  '9.0.2.10.in-addr.arpa PTR': found(raw('9.0.2.10.in-addr.arpa', { type: 'PTR', target: 'nine.example.org' })),
};
const denied: UpstreamAnswer = { ...emptyAnswer(rcodes.NXDOMAIN), authority: [outsideSoa] };

interface TestSlowPath {
  readonly forwarded: string[];
  query(
    name: string,
    type: string,
    given?: QueryOptions & { readonly client?: QueryClient },
  ): Promise<Message | undefined>;
}

function serve(options: Partial<SlowPathOptions> = {}): TestSlowPath {
  const zones = options.zones ?? sampleZones();
  for (const [service, target] of [
    ['gone', 'nowhere.example.org'],
    ['broken', 'broken.example.org'],
    ['refused', 'refused.example.org'],
    ['via', 'alias.example.org'],
    ['circle', 'circle.example.org'],
  ] as const) {
    const data = [{ type: 'CNAME' as const, target }];
    zones.put(`Service/default/${service}`, [{ owner: `${service}.default.${svc}`, type: 'CNAME', ttl: 5, data }]);
  }
  const forwarded: string[] = [];
  const resolve = async ({ name, type }: Question): Promise<UpstreamAnswer> => {
    const question = `${name} ${typeName(type)}`;
    forwarded.push(question);
    if (name === 'throws.example.org') throw new Error('no such upstream');
    return world[question] ?? denied;
  };
  const path = slowPath({
    zones,
    resolver: { resolve },
    mayRecurse: (address) => address.startsWith('10.'),
    ...options,
  });
  return {
    forwarded,
    async query(name, type, { client = friend, ...given } = {}) {
      const [reply, ...more] = await path(queryBytes(name, type, given), client);
      assert.equal(more.length, 0);
      if (reply === undefined) return undefined;
      // An independent decoder must be able to read every reply.
      dnsPacket.decode(Buffer.from(reply));
      return readMessage(reply) ?? assert.fail();
    },
  };
}

const alias = (service: string, target: string): string => `${service}.default.${svc}. 5 IN CNAME ${target}.`;

interface Case {
  readonly name: string;
  readonly question: string;
  readonly client?: QueryClient;
  readonly flags?: number;
  readonly rcode?: string;
  readonly answers?: readonly string[];
  readonly authority?: number;
  readonly aa?: boolean;
  readonly ad?: boolean;
  readonly forwarded?: readonly string[];
  readonly error?: number;
  readonly options?: Partial<SlowPathOptions>;
}

const cases: readonly Case[] = [
  {
    name: 'EXT-4 the CNAME and the upstream addresses of its target',
    question: `outside.default.${svc} A`,
    answers: [alias('outside', 'www.example.org'), 'www.example.org. 60 IN A 192.0.2.80'],
    aa: true,
    forwarded: ['www.example.org A'],
  },
  {
    name: 'EXT-4 a chain that continues upstream',
    question: `via.default.${svc} A`,
    answers: [
      alias('via', 'alias.example.org'),
      'alias.example.org. 60 IN CNAME www.example.org.',
      'www.example.org. 60 IN A 192.0.2.80',
    ],
    aa: true,
  },
  {
    name: 'EXT-4 an upstream NXDOMAIN with the CNAME (RFC 6604)',
    question: `gone.default.${svc} A`,
    rcode: 'NXDOMAIN',
    answers: [alias('gone', 'nowhere.example.org')],
    authority: 1,
    aa: true,
  },
  {
    name: 'EXT-4 an upstream failure keeps the CNAME',
    question: `broken.default.${svc} A`,
    rcode: 'SERVFAIL',
    answers: [alias('broken', 'broken.example.org')],
    aa: true,
    error: extendedErrors.NO_REACHABLE_AUTHORITY,
  },
  {
    name: 'EXT-4 SERVFAIL if the upstream refuses',
    question: `refused.default.${svc} A`,
    rcode: 'SERVFAIL',
    answers: [alias('refused', 'refused.example.org')],
    aa: true,
  },
  {
    name: 'TXT at an ExternalName is forwarded too',
    question: `outside.default.${svc} TXT`,
    answers: [alias('outside', 'www.example.org')],
    authority: 1,
    aa: true,
    forwarded: ['www.example.org TXT'],
  },
  {
    name: 'EXT-3 a client that may not recurse gets the CNAME only',
    question: `outside.default.${svc} A`,
    client: stranger,
    answers: [alias('outside', 'www.example.org')],
    aa: true,
    forwarded: [],
  },
  {
    name: 'no recursion without the RD flag',
    question: `outside.default.${svc} A`,
    flags: 0,
    answers: [alias('outside', 'www.example.org')],
    aa: true,
    forwarded: [],
  },
  { name: 'a name outside', question: 'www.example.org A', answers: ['www.example.org. 60 IN A 192.0.2.80'] },
  { name: 'a name that does not exist upstream', question: 'nowhere.example.org A', rcode: 'NXDOMAIN', authority: 1 },
  {
    name: 'refuses a client that may not recurse',
    question: 'www.example.org A',
    client: stranger,
    rcode: 'REFUSED',
    forwarded: [],
    error: extendedErrors.PROHIBITED,
  },
  {
    name: 'a name outside without recursion',
    question: 'www.example.org A',
    flags: 0,
    rcode: 'REFUSED',
    forwarded: [],
  },
  {
    name: 'a stale answer',
    question: 'stale.example.org A',
    answers: ['stale.example.org. 30 IN A 192.0.2.81'],
    error: extendedErrors.STALE_ANSWER,
  },
  {
    name: 'an upstream that throws',
    question: 'throws.example.org A',
    rcode: 'SERVFAIL',
    error: extendedErrors.NETWORK_ERROR,
  },
  {
    name: 'an upstream reverse name',
    question: '9.0.2.10.in-addr.arpa PTR',
    answers: ['9.0.2.10.in-addr.arpa. 60 IN PTR nine.example.org.'],
  },
  {
    name: 'no NXDOMAIN before the first sync',
    question: `nobody.default.${svc} A`,
    rcode: 'SERVFAIL',
    error: extendedErrors.NOT_READY,
    options: { isSynced: () => false },
  },
  {
    name: 'no fallthrough before the first sync',
    question: '9.0.2.10.in-addr.arpa PTR',
    rcode: 'SERVFAIL',
    forwarded: [],
    error: extendedErrors.NOT_READY,
    options: { isSynced: () => false },
  },
  {
    name: 'answers for known names before the first sync',
    question: `v4.default.${svc} A`,
    answers: [`v4.default.${svc}. 30 IN A 10.96.0.4`],
    aa: true,
    options: { isSynced: () => false },
  },
  {
    name: 'an upstream alias into our zones is answered from our zones',
    question: 'inward.example.org A',
    answers: [`inward.example.org. 60 IN CNAME v4.default.${svc}.`, `v4.default.${svc}. 30 IN A 10.96.0.4`],
  },
  {
    name: 'an upstream alias to a missing name of our zones is NXDOMAIN',
    question: 'denied.example.org A',
    rcode: 'NXDOMAIN',
    answers: [`denied.example.org. 60 IN CNAME nobody.default.${svc}.`],
    authority: 1,
  },
  {
    name: 'an upstream alias into our zones is not NXDOMAIN before the first sync',
    question: 'denied.example.org A',
    rcode: 'SERVFAIL',
    error: extendedErrors.NOT_READY,
    options: { isSynced: () => false },
  },
  {
    name: 'a chain through our zones follows our alias, not that of the upstream',
    question: 'twice.example.org A',
    answers: [
      'twice.example.org. 60 IN CNAME inward.example.org.',
      `inward.example.org. 60 IN CNAME outside.default.${svc}.`,
      alias('outside', 'www.example.org'),
      'www.example.org. 60 IN A 192.0.2.80',
    ],
    forwarded: ['twice.example.org A', 'www.example.org A'],
  },
  {
    name: 'EXT-4 SERVFAIL if an upstream alias leads back to the ExternalName',
    question: `circle.default.${svc} A`,
    rcode: 'SERVFAIL',
    error: extendedErrors.OTHER,
  },
  {
    name: 'a CNAME query returns the alias',
    question: 'inward.example.org CNAME',
    answers: [`inward.example.org. 60 IN CNAME v4.default.${svc}.`],
  },
  {
    name: 'the AD flag of an upstream is cleared',
    question: 'proven.example.org A',
    answers: ['proven.example.org. 60 IN A 192.0.2.82'],
  },
  {
    name: 'the AD flag of a trusted upstream is passed on',
    question: 'proven.example.org A',
    answers: ['proven.example.org. 60 IN A 192.0.2.82'],
    ad: true,
    options: { trustAd: true },
  },
  {
    name: 'AAAA filtered: NODATA if the name exists',
    question: 'www.example.org AAAA',
    authority: 1,
    forwarded: ['www.example.org A'],
    error: extendedErrors.FILTERED,
    options: { filterAaaa: true },
  },
  {
    name: 'AAAA filtered: NXDOMAIN if the name does not exist',
    question: 'nowhere.example.org AAAA',
    rcode: 'NXDOMAIN',
    authority: 1,
    options: { filterAaaa: true },
  },
  {
    name: 'AAAA filtered: not in our own zones',
    question: `web.default.${svc} AAAA`,
    answers: [`web.default.${svc}. 30 IN AAAA fd00::1`],
    aa: true,
    options: { filterAaaa: true },
  },
  {
    name: 'AAAA filtered: keeps aliases',
    question: `outside.default.${svc} AAAA`,
    answers: [alias('outside', 'www.example.org')],
    authority: 1,
    aa: true,
    error: extendedErrors.FILTERED,
    options: { filterAaaa: true },
  },
];

for (const {
  name,
  question,
  client = friend,
  rcode = 'NOERROR',
  answers = [],
  authority = 0,
  aa = false,
  ad = false,
  ...more
} of cases) {
  test(`${name}: ${question}`, async () => {
    const server = serve(more.options);
    const [owner = '', type = ''] = question.split(' ');
    const flags = more.flags ?? flagBits.RD | flagBits.AD;
    const reply = (await server.query(owner, type, { client, flags, size: 1232 })) ?? assert.fail();
    assert.equal(rcodeName(rcodeOf(reply)), rcode);
    assert.deepEqual(reply.answers.flatMap(printEntry), answers);
    assert.equal(reply.authority.length, authority);
    assert.equal((reply.header.flags & flagBits.AA) !== 0, aa);
    assert.equal((reply.header.flags & flagBits.AD) !== 0, ad);
    assert.equal((reply.header.flags & flagBits.RA) !== 0, client === friend);
    if (more.forwarded !== undefined) assert.deepEqual(server.forwarded, more.forwarded);
    const errors = reply.edns?.options.filter(({ code }) => code === optionCodes.ERROR) ?? [];
    if (more.error !== undefined)
      assert.deepEqual(
        errors.map(({ data }) => data[1]),
        [more.error],
      );
  });
}

const completion = { zone: 'cluster.local', search: ['corp.example.org'] };
const first = `www.example.org.default.${svc}`;

const completions: readonly Case[] = [
  {
    name: 'answers the first query with the result of the last',
    question: `${first} A`,
    answers: [`${first}. 30 IN CNAME www.example.org.`, 'www.example.org. 60 IN A 192.0.2.80'],
    forwarded: ['www.example.org.corp.example.org A', 'www.example.org A'],
  },
  {
    name: 'AAAA has the same result as A',
    question: `${first} AAAA`,
    answers: [`${first}. 30 IN CNAME www.example.org.`, 'www.example.org. 60 IN AAAA 2001:db8::80'],
  },
  {
    name: 'a Service of another namespace',
    question: `web.default.default.${svc} A`,
    answers: [`web.default.default.${svc}. 30 IN CNAME web.default.${svc}.`, `web.default.${svc}. 30 IN A 10.96.0.1`],
    forwarded: [],
  },
  {
    name: 'NODATA ends the search',
    question: `v4.default.default.${svc} AAAA`,
    answers: [`v4.default.default.${svc}. 5 IN CNAME v4.default.${svc}.`],
    authority: 1,
    forwarded: [],
  },
  {
    name: 'NXDOMAIN if no name of the list exists',
    question: `no.where.default.${svc} A`,
    rcode: 'NXDOMAIN',
    authority: 1,
  },
  { name: 'returns a failure', question: `broken.example.org.default.${svc} A`, rcode: 'SERVFAIL' },
  {
    name: 'ignores a single label',
    question: `nobody.default.${svc} A`,
    rcode: 'NXDOMAIN',
    authority: 1,
    forwarded: [],
  },
  { name: 'ignores other types', question: `${first} TXT`, rcode: 'NXDOMAIN', authority: 1, forwarded: [] },
  {
    name: 'ignores namespaces that do not exist',
    question: `www.example.org.nowhere.${svc} A`,
    rcode: 'NXDOMAIN',
    authority: 1,
    forwarded: [],
  },
  {
    name: 'does not forward for a client that may not recurse',
    question: `${first} A`,
    client: stranger,
    rcode: 'NXDOMAIN',
    authority: 1,
    forwarded: [],
  },
];

for (const {
  name,
  question,
  client = friend,
  rcode = 'NOERROR',
  answers = [],
  authority = 0,
  forwarded,
} of completions) {
  test(`search-path completion: ${name}: ${question}`, async () => {
    const server = serve({ completion });
    const [owner = '', type = ''] = question.split(' ');
    const reply = (await server.query(owner, type, { client })) ?? assert.fail();
    assert.equal(rcodeName(rcodeOf(reply)), rcode);
    assert.deepEqual(reply.answers.flatMap(printEntry), answers);
    assert.equal(reply.authority.length, authority);
    if (forwarded !== undefined) assert.deepEqual(server.forwarded, forwarded);
  });
}

test('search-path completion is off by default', async () => {
  const server = serve();
  assert.equal(rcodeOf((await server.query(first, 'A')) ?? assert.fail()), rcodes.NXDOMAIN);
  assert.deepEqual(server.forwarded, []);
});

test('returns cookies, and echoes no other option', async () => {
  const server = serve({
    cookies: new Cookies({ secrets: [new Uint8Array(16)] }),
    now: () => 1_700_000_000_000,
  });
  const codes = [optionCodes.COOKIE, optionCodes.NSID, optionCodes.KEEPALIVE, optionCodes.EXPIRE, optionCodes.PADDING];
  const options = codes.map((code) => ({ code, data: new Uint8Array(code === optionCodes.COOKIE ? 8 : 0) }));
  const question = [`web.default.${svc}`, 'A', { size: 1232, options }] as const;
  for (const protocol of ['udp', 'tcp'] as const) {
    const reply = await server.query(question[0], 'A', { ...question[2], client: { ...friend, protocol } });
    assert.deepEqual(
      reply?.edns?.options.map(({ code, data }) => [code, data.length]),
      [[optionCodes.COOKIE, 24]],
    );
  }
  const plain = await server.query(`web.default.${svc}`, 'A');
  assert.equal(plain?.edns, undefined);
});

test('refuses transfers of other clients, and over UDP', async () => {
  const zones = sampleZones();
  const allow = [parseCidr('10.0.0.0/8') ?? assert.fail()];
  const server = serve({ zones, transfers: new Transfers(zones, { allow }) });
  const rcodeFor = async (client: QueryClient, name = 'cluster.local'): Promise<number> =>
    rcodeOf((await server.query(name, 'AXFR', { client })) ?? assert.fail());
  assert.equal(await rcodeFor(stranger), rcodes.REFUSED);
  assert.equal(await rcodeFor({ ...stranger, protocol: 'tcp' }), rcodes.REFUSED);
  assert.equal(await rcodeFor(friend), rcodes.REFUSED);
  assert.equal(await rcodeFor({ ...friend, protocol: 'tcp' }, svc), rcodes.NOTAUTH);
  assert.equal(await rcodeFor({ ...friend, protocol: 'tcp' }), rcodes.NOERROR);
});

test('refuses transfers before the first sync', async () => {
  const zones = sampleZones();
  const allow = [parseCidr('10.0.0.0/8') ?? assert.fail()];
  const server = serve({ zones, transfers: new Transfers(zones, { allow }), isSynced: () => false });
  const reply = await server.query('cluster.local', 'AXFR', { client: { ...friend, protocol: 'tcp' } });
  assert.equal(reply && rcodeOf(reply), rcodes.SERVFAIL);
});

test('does not forward transfers', async () => {
  const server = serve();
  const reply = await server.query('example.org', 'AXFR', { client: { ...friend, protocol: 'tcp' } });
  assert.equal(reply && rcodeOf(reply), rcodes.REFUSED);
  assert.deepEqual(server.forwarded, []);
});

test('drops responses, and returns SERVFAIL after an internal error', async () => {
  const errors: unknown[] = [];
  const zones = sampleZones({
    onDemand: () => {
      throw new Error('broken');
    },
  });
  zones.put('Namespace/default', [], [`default.pod.cluster.local`]);
  const server = serve({ zones, onError: (error) => errors.push(error) });
  assert.equal(await server.query('a', 'A', { flags: flagBits.QR }), undefined);
  const reply = await server.query('10-1-2-3.default.pod.cluster.local', 'A');
  assert.equal(reply && rcodeOf(reply), rcodes.SERVFAIL);
  assert.equal(errors.length, 1);
});

test('keeps the case of the question, also in owners', async () => {
  const bytes = queryBytes(`web.default.${svc}`, types.A);
  for (let at = 12; at < bytes.length - 4; at += 2) {
    const byte = bytes[at] ?? 0;
    if (byte >= 0x61 && byte <= 0x7a) bytes[at] = byte - 0x20;
  }
  const [reply = new Uint8Array()] = await slowPath({ zones: sampleZones() })(bytes, friend);
  const read = dnsPacket.decode(Buffer.from(reply));
  assert.deepEqual(reply.subarray(12, bytes.length), bytes.subarray(12));
  assert.equal(read.answers?.[0]?.name, read.questions?.[0]?.name);
  assert.notEqual(read.answers?.[0]?.name, `web.default.${svc}`);
});
