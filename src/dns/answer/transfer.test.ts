import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCidr } from '../../api/addresses.ts';
import type { QueryClient } from '../prepared.ts';
import type { RecordSet } from '../../dnswire/data.ts';
import { Zones } from '../records/zones.ts';
import { classes, rcodes, types } from '../../dnswire/codes.ts';
import { rcodeOf, readMessage } from '../../dnswire/message.ts';
import type { RawRecord } from '../../dnswire/record.ts';
import { encodeRecord } from '../../dnswire/record.ts';
import type { EncodeContext } from '../message/encode.ts';
import { Journal, serialOf } from './journal.ts';
import { printEntry } from '../message/print.ts';
import type { Query } from '../message/query.ts';
import { sampleQuery, sampleZones } from './testing/sample.ts';
import { Transfers } from './transfer.ts';

const allow = [parseCidr('192.0.2.0/24') ?? assert.fail()];
const tcp: QueryClient = { address: '192.0.2.53', port: 53, protocol: 'tcp' };
const udp: QueryClient = { ...tcp, protocol: 'udp' };
const context: EncodeContext = { protocol: 'tcp', recursion: false, rotation: 0 };

/** All records of the messages, which must be a single transfer. */
function recordsOf(messages: readonly Uint8Array[]): readonly RawRecord[] {
  return messages.flatMap((bytes, index) => {
    assert.ok(bytes.length < 65_536);
    const message = readMessage(bytes) ?? assert.fail();
    assert.equal(rcodeOf(message), rcodes.NOERROR);
    assert.equal(message.questions.length, index === 0 ? 1 : 0);
    return message.answers;
  });
}

const lines = (records: readonly RawRecord[]): readonly string[] => records.flatMap(printEntry);

function linesIn(zones: Zones, apex: string): readonly string[] {
  const sets = [...zones.names(apex)].flatMap((name) => [...(zones.find(name)?.sets.values() ?? [])]);
  return sets.filter(({ type }) => type !== 'SOA').flatMap(printEntry);
}

function ixfr(apex: string, serial: number): Query {
  const timers = { refresh: 1, retry: 1, expire: 1, minimum: 1 };
  const data = encodeRecord({ type: 'SOA', primary: apex, mailbox: apex, serial, ...timers }) ?? assert.fail();
  const authority = { owner: apex, type: types.SOA, class: classes.IN, ttl: 0, data };
  return { ...sampleQuery(apex, types.IXFR), authority };
}

test('AXFR returns all records between two SOA records', async () => {
  const zones = sampleZones();
  const transfers = new Transfers(zones, { allow });
  const records = lines(recordsOf(await transfers.respond(sampleQuery('cluster.local', 'AXFR'), tcp, context)));
  const soa = printEntry(zones.zoneOf('cluster.local')?.soa() ?? assert.fail())[0];
  assert.equal(records[0], soa);
  assert.equal(records.at(-1), soa);
  assert.deepEqual(records.slice(1, -1).toSorted(), [...linesIn(zones, 'cluster.local')].toSorted());
});

test('splits a large zone into several messages', async () => {
  const zones = sampleZones();
  for (let index = 0; index < 5000; index++) {
    const set: RecordSet = {
      owner: `service-${index}.default.svc.cluster.local`,
      type: 'A',
      ttl: 5,
      data: [{ type: 'A', address: `10.9.${index >> 8}.${index & 255}` }],
    };
    zones.put(`Service/default/service-${index}`, [set]);
  }
  const transfers = new Transfers(zones, { allow });
  const messages = await transfers.respond(sampleQuery('cluster.local', 'AXFR'), tcp, context);
  assert.ok(messages.length > 2);
  assert.equal(recordsOf(messages).length, linesIn(zones, 'cluster.local').length + 2);
});

test('refuses transfers beyond the concurrency limit', async () => {
  const transfers = new Transfers(sampleZones(), { allow, maxConcurrent: 1 });
  const query = sampleQuery('cluster.local', 'AXFR');
  const all = await Promise.all([transfers.respond(query, tcp, context), transfers.respond(query, tcp, context)]);
  const rcodesOfAll = all.map(([first = new Uint8Array()]) => rcodeOf(readMessage(first) ?? assert.fail()));
  assert.deepEqual(rcodesOfAll, [rcodes.NOERROR, rcodes.REFUSED]);
  await transfers.respond(query, tcp, context);
});

const apex = 'cluster.local';
const current = (zones: Zones): number => serialOf(zones.zoneOf(apex)?.soa() ?? assert.fail());
const serviceSet = (address: string): RecordSet => ({
  owner: `new.default.svc.${apex}`,
  type: 'A',
  ttl: 5,
  data: [{ type: 'A', address }],
});

test('IXFR: returns the SOA alone to a current client, and over UDP', async () => {
  const zones = sampleZones();
  const transfers = new Transfers(zones, { allow, journal: new Journal(zones) });
  const count = async (serial: number, client: QueryClient): Promise<number> =>
    recordsOf(await transfers.respond(ixfr(apex, serial), client, { ...context, protocol: client.protocol })).length;
  assert.equal(await count(current(zones), tcp), 1);
  assert.equal(await count(current(zones) + 1, tcp), 1, 'a newer serial than ours');
  assert.equal(await count(current(zones) - 1, udp), 1);
  assert.ok((await count(current(zones) - 1, tcp)) > 10, 'a serial that is not known: everything');
});

test('IXFR: returns the changes, each with its SOA records', async () => {
  const zones = sampleZones();
  const journal = new Journal(zones);
  const transfers = new Transfers(zones, { allow, journal });
  const start = current(zones);
  assert.deepEqual(
    journal.record(zones.put('Service/default/new', [serviceSet('10.96.9.1')])).map((zone) => zone.apex),
    [apex],
  );
  const middle = current(zones);
  journal.record(zones.put('Service/default/new', [serviceSet('10.96.9.2')]));
  const end = current(zones);
  const records = recordsOf(await transfers.respond(ixfr(apex, start), tcp, context));
  const brief = lines(records).map((line) => line.split(' ').slice(3, 7).join(' '));
  const soa = (serial: number): string => `SOA ns.dns.${apex}. hostmaster.${apex}. ${serial}`;
  const want = [
    soa(end),
    soa(start),
    soa(middle),
    'A 10.96.9.1',
    soa(middle),
    'A 10.96.9.1',
    soa(end),
    'A 10.96.9.2',
    soa(end),
  ];
  assert.deepEqual(brief, want);
  const fromMiddle = recordsOf(await transfers.respond(ixfr(apex, middle), tcp, context));
  assert.equal(fromMiddle.length, 6);
});

test('a journal drops the oldest changes beyond its limit', () => {
  const zones = sampleZones();
  const journal = new Journal(zones, { maxRecords: 12 });
  const serials: number[] = [];
  for (let index = 0; index < 10; index++) {
    serials.push(current(zones));
    journal.record(zones.put('Service/default/new', [serviceSet(`10.96.9.${index}`)]));
  }
  assert.equal(journal.since(apex, serials[0] ?? 0), undefined);
  assert.equal(journal.since(apex, serials.at(-3) ?? 0)?.length, 3);
});

test('applying the changes of random updates yields the zone', () => {
  const name = fc.constantFrom('a', 'b', 'c.a').map((label) => `${label}.svc.${apex}`);
  const address = fc.nat(3).map((last) => ({ type: 'A' as const, address: `10.0.0.${last}` }));
  const set = fc
    .record({
      owner: name,
      ttl: fc.constantFrom(5, 30),
      data: fc.uniqueArray(address, { selector: (each) => each.address }),
    })
    .map((each): RecordSet => ({ ...each, type: 'A' }));
  const change = fc.record({ source: fc.constantFrom('x', 'y'), sets: fc.array(set, { maxLength: 3 }) });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), fc.nat(7), (changes, from) => {
      const zones = new Zones([{ apex }], { now: () => 1_700_000_000_000 });
      const journal = new Journal(zones);
      const copies: { readonly serial: number; readonly lines: readonly string[] }[] = [];
      const keep = (): void => void copies.push({ serial: current(zones), lines: linesIn(zones, apex) });
      keep();
      for (const { source, sets } of changes) {
        journal.record(zones.put(source, sets));
        keep();
      }
      const start = copies[from % copies.length] ?? assert.fail();
      const copy = new Set(start.lines);
      if (start.serial !== current(zones)) {
        for (const step of journal.since(apex, start.serial) ?? assert.fail()) {
          for (const line of step.removed.flatMap(printEntry)) assert.ok(copy.delete(line), line);
          for (const line of step.added.flatMap(printEntry)) copy.add(line);
        }
      }
      assert.deepEqual([...copy].toSorted(), [...linesIn(zones, apex)].toSorted());
    }),
  );
});
