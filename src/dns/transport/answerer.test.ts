import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import type { Answer } from 'dns-packet';

import { Answerer, toSlowPath, needsFullParse, maxUdpReplyBytes, drop } from './answerer.ts';
import { TableReader } from './lookup.ts';
import { addressRecord, apex, decode, edns, empty, named, query, sampleTable, zone } from './testing/sample.ts';
import { AnswerTable } from './table.ts';

const out = new Uint8Array(70_000);

function answerer(table: AnswerTable = sampleTable()): Answerer {
  return new Answerer(new TableReader(table.share()));
}

function answer(from: Answerer, bytes: Uint8Array, overUdp: boolean = true): Uint8Array | number {
  // At an offset, as in a batch.
  const shifted = new Uint8Array(bytes.length + 100);
  shifted.set(bytes, 77);
  const length = from.answer(shifted, 77, bytes.length, out, 33, overUdp);
  return length > 0 ? out.slice(33, 33 + length) : length;
}

/** A reply in one line: code, flags, then the sections. */
function summary(reply: Uint8Array | number): string {
  if (typeof reply === 'number')
    return { [toSlowPath]: 'slow path', [needsFullParse]: 'full parse', [drop]: 'drop' }[reply] ?? '?';
  const decoded = decode(reply);
  const flags = (['flag_aa', 'flag_tc', 'flag_rd', 'flag_ra'] as const).filter((flag) => decoded[flag]);
  const printed = (records: readonly Answer[] = []): string =>
    records.map((each) => (each.type === 'A' ? each.data : each.type === 'SOA' ? `SOA ${each.data.serial}` : each.type)).join(' '); // prettier-ignore
  const rcode = 'rcode' in decoded ? String(decoded.rcode) : '';
  return [
    rcode,
    flags.map((flag) => flag.slice(5)).join(),
    printed(decoded.answers),
    printed(decoded.authorities),
    printed(decoded.additionals),
  ].join(' | ');
}

const flagsOf = (bytes: Buffer, change: (bytes: Buffer) => void): Buffer => {
  change(bytes);
  return bytes;
};

const cases: readonly { readonly name: string; readonly query: Uint8Array; readonly want: string }[] = [
  { name: 'a name with an address', query: query(`web.ns.svc.${apex}`), want: 'NOERROR | aa,rd | 10.0.0.1 |  | ' },
  { name: 'in any case', query: query(`WEB.ns.SVC.Cluster.Local`), want: 'NOERROR | aa,rd | 10.0.0.1 |  | ' },
  { name: 'another type: NODATA', query: query(`web.ns.svc.${apex}`, 'AAAA'), want: 'NOERROR | aa,rd |  | SOA 1 | ' },
  { name: 'an empty non-terminal: NODATA', query: query(`svc.${apex}`), want: 'NOERROR | aa,rd |  | SOA 1 | ' },
  { name: 'no such name', query: query(`no.ns.svc.${apex}`), want: 'NXDOMAIN | aa,rd |  | SOA 1 | ' },
  {
    name: 'no such name, deep below a name that exists',
    query: query(`www.example.org.ns.svc.${apex}`),
    want: 'NXDOMAIN | aa,rd |  | SOA 1 | ',
  },
  { name: 'below a name with records', query: query(`x.web.ns.svc.${apex}`), want: 'NXDOMAIN | aa,rd |  | SOA 1 | ' },
  { name: 'outside the zones', query: query('example.org'), want: 'slow path' },
  { name: 'above the zones', query: query('local'), want: 'slow path' },
  { name: 'the root', query: query('.'), want: 'slow path' },
  { name: 'an alias', query: query(`alias.ns.svc.${apex}`), want: 'slow path' },
  { name: 'below a dynamic name', query: query(`10-0-0-1.ns.pod.${apex}`), want: 'slow path' },
  { name: 'a dynamic name', query: query(`ns.pod.${apex}`), want: 'NOERROR | aa,rd |  | SOA 1 | ' },
  { name: 'a transfer', query: query(apex, 'AXFR'), want: 'slow path' },
  { name: 'any type', query: query(`web.ns.svc.${apex}`, 'ANY'), want: 'slow path' },
  { name: 'a query with EDNS', query: query(`web.ns.svc.${apex}`, 'A', edns(4096)), want: 'NOERROR | aa,rd | 10.0.0.1 |  | OPT' }, // prettier-ignore
  { name: 'NXDOMAIN with EDNS', query: query(`no.${apex}`, 'A', edns(512)), want: 'NXDOMAIN | aa,rd |  | SOA 1 | OPT' },
  { name: 'a response', query: flagsOf(query(apex), (bytes) => (bytes[2] = 0x80)), want: 'drop' },
  { name: 'an empty message', query: new Uint8Array(0), want: 'drop' },
  { name: 'an incomplete header', query: query(apex).subarray(0, 11), want: 'drop' },
  { name: 'an update', query: flagsOf(query(apex), (bytes) => (bytes[2] = 0x28)), want: 'NOTIMP |  |  |  | ' },
  { name: 'a notify', query: flagsOf(query(apex), (bytes) => (bytes[2] = 0x20)), want: 'NOTAUTH |  |  |  | ' },
  { name: 'two questions', query: flagsOf(query(apex), (bytes) => (bytes[5] = 2)), want: 'FORMERR | rd |  |  | ' },
  { name: 'no question', query: flagsOf(query(apex), (bytes) => (bytes[5] = 0)), want: 'FORMERR | rd |  |  | ' },
  { name: 'a question cut off', query: query(apex).subarray(0, 20), want: 'FORMERR | rd |  |  | ' },
  { name: 'a question without its class', query: query(apex).subarray(0, -1), want: 'FORMERR | rd |  |  | ' },
  { name: 'a pointer in the question', query: flagsOf(query(apex), (bytes) => (bytes[12] = 0xc0)), want: 'FORMERR | rd |  |  | ' }, // prettier-ignore
  { name: 'another class', query: flagsOf(query(apex), (bytes) => (bytes[bytes.length - 1] = 3)), want: 'REFUSED | rd |  |  | ' }, // prettier-ignore
  { name: 'records in other sections', query: flagsOf(query(apex), (bytes) => (bytes[9] = 1)), want: 'full parse' },
  { name: 'an OPT record cut off', query: query(apex, 'A', edns(4096)).subarray(0, -1), want: 'FORMERR | rd |  |  | ' },
];

for (const { name, query: bytes, want } of cases) {
  test(`answer: ${name}`, () => assert.equal(summary(answer(answerer(), bytes)), want));
}

test('copies the id and the case of the question', () => {
  const bytes = query('wEb.Ns.SvC.cLuStEr.LoCaL');
  const reply = answer(answerer(), bytes);
  assert.ok(typeof reply !== 'number');
  assert.deepEqual(reply.subarray(12, bytes.length), new Uint8Array(bytes.subarray(12)));
  assert.equal(decode(reply).id, 4711);
});

test('returns BADVERS for an unknown EDNS version', () => {
  const bytes = query(apex, 'A', edns(1232));
  bytes[bytes.length - 5] = 1;
  const reply = answer(answerer(), bytes);
  assert.ok(typeof reply !== 'number');
  assert.equal(reply[reply.length - 6], 1, 'the upper bits of 16');
  assert.equal((reply[3] ?? 0) & 0xf, 0);
});

test('rotates records evenly, also for alternating types', () => {
  const from = answerer();
  const firsts = new Map<string, number>();
  for (let turn = 0; turn < 1000; turn++) {
    const [, , records = ''] = summary(answer(from, query(`few.ns.svc.${apex}`))).split(' | ');
    assert.equal(new Set(records.split(' ')).size, 5);
    const [first = ''] = records.split(' ');
    firsts.set(first, (firsts.get(first) ?? 0) + 1);
    answer(from, query(`few.ns.svc.${apex}`, 'AAAA'));
    answer(from, query(`many.ns.svc.${apex}`));
  }
  for (const count of firsts.values()) assert.ok(count > 150 && count < 250, String([...firsts]));
  assert.equal(firsts.size, 5);
});

test('does not rotate PTR records', () => {
  const table = sampleTable();
  const pointers = [1, 2, 3].map((label) => Uint8Array.of(0xc0, 12, 0, 12, 0, 1, 0, 0, 0, 5, 0, 3, 1, 48 + label, 0));
  table.put({ name: `ptr.${apex}`, zone: apex, answers: [{ type: 12, answers: pointers, additional: [] }] });
  const from = answerer(table);
  for (let turn = 0; turn < 20; turn++) {
    const reply = answer(from, query(`ptr.${apex}`, 'PTR'));
    assert.ok(typeof reply !== 'number');
    assert.deepEqual(
      decode(reply).answers?.map((each) => 'data' in each && each.data),
      ['1', '2', '3'],
    );
  }
});

const sizes = [
  { name: 'without EDNS', extra: {}, limit: 512, overUdp: true },
  { name: 'with EDNS size 700', extra: edns(700), limit: 700, overUdp: true },
  { name: 'with EDNS size 4096', extra: edns(4096), limit: maxUdpReplyBytes, overUdp: true },
  { name: 'with EDNS size 100', extra: edns(100), limit: 512, overUdp: true },
  { name: 'with EDNS size 0', extra: edns(0), limit: 512, overUdp: true },
  { name: 'over TCP', extra: edns(512), limit: 65_535, overUdp: false },
];
for (const { name, extra, limit, overUdp } of sizes) {
  test(`100 addresses ${name}: whole records up to ${limit} bytes`, () => {
    const reply = answer(answerer(), query(`many.ns.svc.${apex}`, 'A', extra), overUdp);
    assert.ok(typeof reply !== 'number');
    const { answers = [], additionals = [], flag_tc: isTruncated } = decode(reply);
    assert.ok(reply.length <= limit);
    assert.equal(isTruncated, overUdp && answers.length < 100);
    if (isTruncated) assert.ok(reply.length + 16 > limit);
    assert.equal(additionals.length, 'additionals' in extra ? 1 : 0);
    assert.equal(new Set(answers.map((each) => JSON.stringify(each))).size, answers.length);
  });
}

test('omits whole additional sets that do not fit, without TC', () => {
  const table = sampleTable();
  const target = (label: number, host: number): Uint8Array =>
    Uint8Array.of(1, label, ...addressRecord(10, 1, label, host));
  const setOf = (label: number): readonly Uint8Array[] => Array.from({ length: 10 }, (_, host) => target(label, host));
  const answers = [{ type: 33, answers: [addressRecord(1, 1, 1, 1)], additional: [97, 98, 99].flatMap(setOf) }];
  table.put({ name: `srv.${apex}`, zone: apex, answers });
  const reply = answer(answerer(table), query(`srv.${apex}`, 'SRV'));
  assert.ok(typeof reply !== 'number');
  assert.equal(reply[11], 20, 'there is room for 24');
  assert.equal(summary(reply), `NOERROR | aa,rd | 1.1.1.1 |  | ${[97, 98].flatMap((label) => Array.from({ length: 10 }, (_, host) => `10.1.${label}.${host}`)).join(' ')}`); // prettier-ignore
});

test('sends a query for an answer that exceeds a message to the slow path', () => {
  const table = sampleTable();
  table.put({ ...named(`huge.${apex}`, 0), answers: [{ type: 1, answers: undefined, additional: [] }] });
  assert.equal(answer(answerer(table), query(`huge.${apex}`), false), toSlowPath);
});

test('uses a new serial at once, and the slow path for a deleted zone', () => {
  const table = sampleTable();
  const from = answerer(table);
  table.putZone(zone(4_000_000_000));
  assert.match(summary(answer(from, query(`no.${apex}`))), /SOA 4000000000/);
  table.deleteZone(apex);
  assert.equal(answer(from, query(`no.${apex}`)), toSlowPath);
});

test('uses the innermost zone, which may be the root', () => {
  const table = new AnswerTable();
  table.putZone({ ...zone(7), apex: '' });
  table.putZone(zone(8));
  table.put({ name: '', zone: '', answers: [] });
  table.put(empty(apex));
  const from = answerer(table);
  assert.match(summary(answer(from, query('example.org'))), /NXDOMAIN .* SOA 7/);
  assert.match(summary(answer(from, query(`x.${apex}`))), /NXDOMAIN .* SOA 8/);
  assert.match(summary(answer(from, query('.'))), /NOERROR .* SOA 7/);
});

test('replies from random tables can be decoded and equal a model', () => {
  const label = fc.constantFrom('a', 'b', 'c', 'dd', '_x', 'svc');
  const below = fc.array(label, { minLength: 0, maxLength: 3 }).map((labels) => [...labels, apex].join('.'));
  const types = { A: 1, AAAA: 28, TXT: 16 } as const;
  const entry = fc.record({ name: below, count: fc.integer({ min: 0, max: 120 }) });
  const queries = fc.record({
    name: below,
    type: fc.constantFrom(...(Object.keys(types) as (keyof typeof types)[])),
    size: fc.option(fc.integer({ min: 0, max: 5000 }), { nil: undefined }),
  });
  const property = fc.property(fc.array(entry), fc.array(queries, { minLength: 20 }), (entries, questions) => {
    const table = new AnswerTable();
    table.putZone(zone(3));
    const model = new Map<string, number>([[apex, 0]]);
    for (const { name, count } of entries) {
      model.set(name, count);
      for (let at = name.indexOf('.'); name.length > apex.length && at !== -1; at = name.indexOf('.', at + 1)) {
        const above = name.slice(at + 1);
        if (above.endsWith(apex) && !model.has(above)) model.set(above, 0);
      }
    }
    for (const [name, count] of model) table.put(count === 0 ? empty(name) : named(name, count));
    const from = answerer(table);
    for (const { name, type, size } of questions) {
      const reply = answer(from, query(name, type, size === undefined ? {} : edns(size)));
      assert.ok(typeof reply !== 'number');
      const limit = size === undefined ? 512 : Math.min(Math.max(512, size), maxUdpReplyBytes);
      const decoded = decode(reply);
      const want = type === 'A' ? (model.get(name) ?? 0) : 0;
      const got = decoded.answers?.length ?? 0;
      assert.ok(reply.length <= limit);
      assert.equal(decoded.flag_tc, got < want);
      assert.equal('rcode' in decoded && decoded.rcode, model.has(name) ? 'NOERROR' : 'NXDOMAIN');
      assert.equal(decoded.authorities?.length, want === 0 ? 1 : 0);
      assert.equal(new Set(decoded.answers?.map((each) => JSON.stringify(each))).size, got);
    }
  });
  fc.assert(property, { numRuns: 60 });
});

test('mutated queries never throw, and replies can be decoded and are within the limit', () => {
  const from = answerer();
  const bases = [query(`web.ns.svc.${apex}`), query(`many.ns.svc.${apex}`, 'A', edns(1400)), query('x.y', 'TXT')];
  const change = fc.record({ at: fc.nat(80), to: fc.nat(255) });
  const property = fc.property(fc.nat(2), fc.array(change, { maxLength: 6 }), fc.nat(100), (which, changes, cut) => {
    const bytes = Buffer.from(bases[which] ?? '');
    for (const { at, to } of changes) if (at < bytes.length) bytes[at] = to;
    const reply = answer(from, bytes.subarray(0, Math.max(0, bytes.length - (cut > 60 ? cut - 60 : 0))));
    if (typeof reply === 'number') return;
    assert.ok(reply.length <= maxUdpReplyBytes);
    assert.equal((reply[2] ?? 0) & 0x80, 0x80);
    decode(reply);
  });
  fc.assert(property, { numRuns: 3000 });
});
