// Sample data of the tests: a small cluster as zone files, and queries.
import assert from 'node:assert/strict';
import type { RecordData, RecordType, RecordSet } from '../../../dnswire/data.ts';
import { recordTypes } from '../../../dnswire/data.ts';
import type { ZoneOptions, ZonesOptions } from '../../records/zones.ts';
import { Zones } from '../../records/zones.ts';
import { flagBits, typeNumber } from '../../../dnswire/codes.ts';
import type { Edns, EdnsOption } from '../../../dnswire/message.ts';
import { readHeader } from '../../../dnswire/message.ts';
import { parseName } from '../../../dnswire/name.ts';
import { MessageWriter } from '../../../dnswire/writer.ts';
import type { Query } from '../../message/query.ts';
import { readQuery } from '../../message/query.ts';

/** Source → its records, `owner ttl type data`, relative to cluster.local unless they end in a dot. */
const cluster: Readonly<Record<string, string>> = {
  'zone/cluster.local': `
    @ 5 NS ns.dns
    ns.dns 5 A 10.96.0.10
    dns-version 28800 TXT 1.1.0`,
  'Service/default/web': `
    web.default.svc 30 A 10.96.0.1
    web.default.svc 30 AAAA fd00::1
    web.default.svc 30 SRV 0 100 80 web.default.svc
    _http._tcp.web.default.svc 30 SRV 0 100 80 web.default.svc
    1.0.96.10.in-addr.arpa. 30 PTR web.default.svc`,
  'Service/default/v4': `
    v4.default.svc 30 A 10.96.0.4`,
  'Service/default/7up': `
    7up.default.svc 30 A 10.96.0.7`,
  'Service/default/db': `
    db.default.svc 5 A 10.1.0.1
    db.default.svc 5 A 10.1.0.2
    db.default.svc 5 A 10.1.0.3
    db-0.db.default.svc 5 A 10.1.0.1
    db-1.db.default.svc 5 A 10.1.0.2
    db-2.db.default.svc 5 A 10.1.0.3
    _pg._tcp.db.default.svc 5 SRV 0 33 5432 db-0.db.default.svc
    _pg._tcp.db.default.svc 5 SRV 0 33 5432 db-1.db.default.svc
    _pg._tcp.db.default.svc 5 SRV 0 33 5432 db-2.db.default.svc`,
  'Service/default/outside': 'outside.default.svc 5 CNAME www.example.org.',
  'Service/default/inside': 'inside.default.svc 5 CNAME web.default.svc',
  'Service/default/only4': 'only4.default.svc 5 CNAME v4.default.svc',
  'Service/default/twice': 'twice.default.svc 5 CNAME inside.default.svc',
  'Service/default/lost': 'lost.default.svc 5 CNAME nobody.default.svc',
  'Service/default/self': 'self.default.svc 5 CNAME self.default.svc',
  'Service/default/ping': 'ping.default.svc 5 CNAME pong.default.svc',
  'Service/default/pong': 'pong.default.svc 5 CNAME ping.default.svc',
};

const sampleOrigins: readonly ZoneOptions[] = [
  { apex: 'cluster.local' },
  { apex: '10.in-addr.arpa' },
  { apex: '2.10.in-addr.arpa', fallthrough: true },
];

/** The zones of the sample cluster at a fixed time. */
export function sampleZones(options: ZonesOptions = {}): Zones {
  const zones = new Zones(sampleOrigins, { now: () => 1_700_000_000_000, ...options });
  for (const [source, text] of Object.entries(cluster)) zones.put(source, parseSets(text));
  return zones;
}

/** The sets of a zone file. */
function parseSets(text: string): readonly RecordSet[] {
  const sets = new Map<string, { owner: string; type: RecordType; ttl: number; data: RecordData[] }>();
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    const [owner = '', ttl = '', type = '', ...rest] = line.split(' ');
    assert.ok(type in recordTypes, line);
    const data = parseData(type as RecordType, rest);
    const key = `${owner} ${type}`;
    const set = sets.get(key);
    if (set === undefined) {
      sets.set(key, { owner: absolute(owner), type: data.type, ttl: Number(ttl), data: [data] });
    } else set.data.push(data);
  }
  return [...sets.values()];
}

function parseData(type: RecordType, words: readonly string[]): RecordData {
  const [first = '', second, third, fourth = ''] = words;
  switch (type) {
    case 'A':
    case 'AAAA':
      return { type, address: first };
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return { type, target: absolute(first) };
    case 'TXT':
      return { type, text: words };
    case 'SRV': {
      const numbers = { priority: Number(first), weight: Number(second), port: Number(third) };
      return { type, ...numbers, target: absolute(fourth) };
    }
    case 'SOA':
      return assert.fail('zones make their SOA themselves');
  }
}

const origin = 'cluster.local';

function absolute(name: string): string {
  if (name === '@') return origin;
  return parseName(name.endsWith('.') ? name : `${name}.${origin}`) ?? assert.fail(name);
}

export interface QueryOptions {
  readonly id?: number;
  readonly flags?: number;
  readonly class?: number;
  /** The UDP size in the OPT record; undefined: no OPT record. */
  readonly size?: number;
  readonly edns?: Partial<Edns>;
  readonly options?: readonly EdnsOption[];
}

/** A query as bytes; the name keeps its case. */
export function queryBytes(name: string, type: string | number, given: QueryOptions = {}): Uint8Array {
  const { id = 7, flags = flagBits.RD, size, options = [] } = given;
  const edns: Partial<Edns> | undefined = given.edns ?? (size === undefined ? undefined : {});
  const writer = new MessageWriter();
  const additionals = edns === undefined ? 0 : 1;
  writer.header({ id, flags, questions: 1, answers: 0, authorities: 0, additionals });
  const number = typeof type === 'number' ? type : (typeNumber(type) ?? assert.fail(type));
  writer.question({ name: name.replace(/\.$/, ''), type: number, class: given.class ?? 1 });
  const opt = { version: 0, size: size ?? 1232, dnssecOk: false, extendedRcode: 0, options, ...edns };
  if (edns !== undefined) writer.opt(opt);
  return writer.bytes();
}

/** A parsed query. */
export function sampleQuery(name: string, type: string | number, given: QueryOptions = {}): Query {
  const bytes = queryBytes(name, type, given);
  const header = readHeader(bytes) ?? assert.fail();
  return readQuery(bytes, header) ?? assert.fail(`${name} ${type}`);
}
