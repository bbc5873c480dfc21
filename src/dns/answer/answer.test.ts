import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rcodeName, typeNumber } from '../../dnswire/codes.ts';
import { parseName } from '../../dnswire/name.ts';
import type { Outcome } from './answer.ts';
import { answer } from './answer.ts';
import { printEntry } from '../message/print.ts';
import { sampleZones } from './testing/sample.ts';

const zones = sampleZones();

function ask(name: string, type: string): Outcome {
  const parsed = { name: parseName(name) ?? assert.fail(name), type: typeNumber(type) ?? assert.fail(type) };
  return answer(zones, parsed);
}

const soa = 'cluster.local. 5 IN SOA ns.dns.cluster.local. hostmaster.cluster.local. 1700000000 7200 1800 86400 5';

interface Case {
  readonly name: string;
  readonly question: string;
  readonly rcode?: string;
  /** Lines of the answer section; ours end in svc.cluster.local where they begin with a `~`. */
  readonly answers?: readonly string[];
  readonly hasSoa?: boolean;
  readonly additional?: readonly string[];
  readonly chase?: string;
  readonly authoritative?: boolean;
}

const nodata = { rcode: 'NOERROR', answers: [], hasSoa: true };
const nxdomain = { rcode: 'NXDOMAIN', answers: [], hasSoa: true };
const svc = 'svc.cluster.local';

const cases: readonly Case[] = [
  // What the schema requires.
  { name: 'an address', question: `web.default.${svc} A`, answers: [`web.default.${svc}. 30 IN A 10.96.0.1`] },
  {
    name: 'NAME-7 a digit first',
    question: `7up.default.${svc} A`,
    answers: [`7up.default.${svc}. 30 IN A 10.96.0.7`],
  },
  {
    name: 'the other family',
    question: `web.default.${svc} AAAA`,
    answers: [`web.default.${svc}. 30 IN AAAA fd00::1`],
  },
  { name: 'a family without addresses', question: `v4.default.${svc} AAAA`, ...nodata },
  { name: 'an unknown type (RFC 3597)', question: `web.default.${svc} TYPE65280`, ...nodata },
  { name: 'HTTPS (RFC 9460)', question: `web.default.${svc} HTTPS`, ...nodata },
  {
    name: 'SRV with the addresses of its target',
    question: `_http._tcp.web.default.${svc} SRV`,
    answers: [`_http._tcp.web.default.${svc}. 30 IN SRV 0 100 80 web.default.${svc}.`],
    additional: [`web.default.${svc}. 30 IN A 10.96.0.1`, `web.default.${svc}. 30 IN AAAA fd00::1`],
  },
  {
    name: 'headless SRV with the address of each target',
    question: `_pg._tcp.db.default.${svc} SRV`,
    answers: [0, 1, 2].map((host) => `_pg._tcp.db.default.${svc}. 5 IN SRV 0 33 5432 db-${host}.db.default.${svc}.`),
    additional: [0, 1, 2].map((host) => `db-${host}.db.default.${svc}. 5 IN A 10.1.0.${host + 1}`),
  },
  {
    name: 'the apex has its SOA',
    question: 'cluster.local SOA',
    answers: [soa],
  },
  {
    name: 'PTR',
    question: '1.0.96.10.in-addr.arpa PTR',
    answers: [`1.0.96.10.in-addr.arpa. 30 IN PTR web.default.${svc}.`],
  },
  { name: 'a wildcard is a label like others (RFC 4592)', question: `*.default.${svc} A`, ...nxdomain },
  // Where CoreDNS differs from the specification: the column "better".
  { name: 'TXT at the apex', question: 'cluster.local TXT', ...nodata },
  { name: 'TXT at svc.<zone>', question: `${svc} TXT`, ...nodata },
  { name: 'TXT at <ns>.svc.<zone>', question: `default.${svc} TXT`, ...nodata },
  { name: 'A at dns-version.<zone>', question: 'dns-version.cluster.local A', ...nodata },
  {
    name: 'NS at the apex queried in mixed case',
    question: 'CLUSTER.Local NS',
    answers: ['cluster.local. 5 IN NS ns.dns.cluster.local.'],
    additional: ['ns.dns.cluster.local. 5 IN A 10.96.0.10'],
  },
  { name: 'SOA at a name that does not exist', question: `nobody.default.${svc} SOA`, ...nxdomain },
  { name: 'SRV at _tcp.<svc>', question: `_tcp.web.default.${svc} SRV`, ...nodata },
  { name: 'A at _http._tcp.<svc>', question: `_http._tcp.web.default.${svc} A`, ...nodata },
  {
    name: 'SRV at the bare service name',
    question: `web.default.${svc} SRV`,
    answers: [`web.default.${svc}. 30 IN SRV 0 100 80 web.default.${svc}.`],
    additional: [`web.default.${svc}. 30 IN A 10.96.0.1`, `web.default.${svc}. 30 IN AAAA fd00::1`],
  },
  { name: 'A at a name that owns a PTR', question: '1.0.96.10.in-addr.arpa A', rcode: 'NOERROR', answers: [] },
  {
    name: 'PTR at an octet level above a served address',
    question: '96.10.in-addr.arpa PTR',
    rcode: 'NOERROR',
    answers: [],
  },
  ...['TXT', 'SRV', 'HTTPS', 'MX'].map((type) => ({
    name: `EXT-1 ${type} at an ExternalName is the CNAME`,
    question: `outside.default.${svc} ${type}`,
    answers: [`outside.default.${svc}. 5 IN CNAME www.example.org.`],
    chase: 'www.example.org',
  })),
  {
    name: 'EXT-4 an alias out of our zones returns a name to resolve upstream',
    question: `outside.default.${svc} A`,
    answers: [`outside.default.${svc}. 5 IN CNAME www.example.org.`],
    chase: 'www.example.org',
  },
  {
    name: 'EXT-1 a CNAME query returns only the CNAME',
    question: `inside.default.${svc} CNAME`,
    answers: [`inside.default.${svc}. 5 IN CNAME web.default.${svc}.`],
  },
  {
    name: 'EXT-4 an alias inside our zones is followed',
    question: `twice.default.${svc} A`,
    answers: [
      `twice.default.${svc}. 5 IN CNAME inside.default.${svc}.`,
      `inside.default.${svc}. 5 IN CNAME web.default.${svc}.`,
      `web.default.${svc}. 30 IN A 10.96.0.1`,
    ],
  },
  {
    name: 'AAAA at an ExternalName whose in-cluster target is v4-only',
    question: `only4.default.${svc} AAAA`,
    answers: [`only4.default.${svc}. 5 IN CNAME v4.default.${svc}.`],
    hasSoa: true,
  },
  {
    name: 'ExternalName to a missing in-cluster service (RFC 6604)',
    question: `lost.default.${svc} A`,
    rcode: 'NXDOMAIN',
    answers: [`lost.default.${svc}. 5 IN CNAME nobody.default.${svc}.`],
    hasSoa: true,
  },
  { name: 'ExternalName loops to itself', question: `self.default.${svc} A`, rcode: 'SERVFAIL', authoritative: false },
  { name: 'ExternalName loops a-b-a', question: `ping.default.${svc} A`, rcode: 'SERVFAIL', authoritative: false },
  { name: 'a name below an alias', question: `x.inside.default.${svc} A`, ...nxdomain },
  // Other queries.
  {
    name: 'ANY (RFC 8482)',
    question: `web.default.${svc} ANY`,
    answers: [`web.default.${svc}. 8482 IN HINFO \\# 9 075246433834383200`],
  },
  { name: 'ANY at an empty non-terminal', question: `default.${svc} ANY`, ...nodata },
  {
    name: 'ANY at an alias',
    question: `inside.default.${svc} ANY`,
    answers: [`inside.default.${svc}. 5 IN CNAME web.default.${svc}.`],
  },
  { name: 'ANY at a missing name', question: `nobody.default.${svc} ANY`, ...nxdomain },
  { name: 'AXFR without permission', question: 'cluster.local AXFR', rcode: 'REFUSED', authoritative: false },
  {
    name: 'a name outside our zones',
    question: 'example.org A',
    rcode: 'REFUSED',
    authoritative: false,
    chase: 'example.org',
  },
  {
    name: 'a missing name of a zone with fallthrough',
    question: '9.0.2.10.in-addr.arpa PTR',
    rcode: 'NXDOMAIN',
    chase: '9.0.2.10.in-addr.arpa',
  },
];

for (const {
  name,
  question,
  rcode = 'NOERROR',
  answers = [],
  hasSoa,
  additional = [],
  chase,
  authoritative = true,
} of cases) {
  test(`${name}: ${question}`, () => {
    const [owner = '', type = ''] = question.split(' ');
    const outcome = ask(owner, type);
    assert.equal(rcodeName(outcome.rcode), rcode);
    assert.deepEqual(outcome.answers.flatMap(printEntry), answers);
    if (hasSoa !== undefined) assert.deepEqual(outcome.authority.flatMap(printEntry), hasSoa ? [soa] : []);
    assert.deepEqual(outcome.additional.flatMap(printEntry), additional);
    assert.equal(outcome.chase, chase);
    assert.equal(outcome.authoritative, authoritative);
  });
}

test('RFC 2308: the TTL of a negative answer is the lower of TTL and minimum', () => {
  const [set] = ask(`nobody.${svc}`, 'A').authority;
  assert.equal(set?.ttl, 5);
});

test('stops at a long chain of aliases', () => {
  const chained = sampleZones();
  for (let link = 0; link < 20; link++) {
    const data = [{ type: 'CNAME' as const, target: `c${link + 1}.${svc}` }];
    chained.put(`Service/x/c${link}`, [{ owner: `c${link}.${svc}`, type: 'CNAME', ttl: 5, data }]);
  }
  assert.equal(rcodeName(answer(chained, { name: `c0.${svc}`, type: 1 }).rcode), 'SERVFAIL');
  assert.equal(answer(chained, { name: `c10.${svc}`, type: 1 }).answers.length, 10);
});
