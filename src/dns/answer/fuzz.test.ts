// Malformed messages are answered or dropped, and have no other effect.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseCidr } from '../../api/addresses.ts';
import { emptyAnswer } from '../resolver.ts';
import { optionCodes, rcodes } from '../../dnswire/codes.ts';
import { readMessage } from '../../dnswire/message.ts';
import { concat } from '../../dnswire/record.ts';
import { Cookies } from '../message/cookie.ts';
import { slowPath } from './slow-path.ts';
import { Journal } from './journal.ts';
import { queryBytes, sampleZones } from './testing/sample.ts';
import { Transfers } from './transfer.ts';

const cookie = { code: optionCodes.COOKIE, data: new Uint8Array(8) };
const seeds = [
  queryBytes('web.default.svc.cluster.local', 'A'),
  queryBytes('_pg._tcp.db.default.svc.cluster.local', 'SRV', { size: 4096 }),
  queryBytes('outside.default.svc.cluster.local', 'A', { size: 512, options: [cookie] }),
  queryBytes('cluster.local', 'AXFR'),
  queryBytes('cluster.local', 'IXFR'),
  queryBytes('web.default.svc.cluster.local', 'ANY', { edns: { dnssecOk: true } }),
  queryBytes('www.example.org.default.svc.cluster.local', 'AAAA'),
];

/** A mutation of a message: changed, removed or inserted bytes. */
const change = fc.oneof(
  fc.record({ at: fc.nat(90), byte: fc.nat(255) }),
  fc.record({ cut: fc.nat(90) }),
  fc.record({ at: fc.nat(90), insert: fc.uint8Array({ maxLength: 20 }) }),
);
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function mutate(bytes: Uint8Array, each: Change): Uint8Array {
  if ('cut' in each) return bytes.slice(0, each.cut);
  if ('insert' in each) return concat([bytes.subarray(0, each.at), each.insert, bytes.subarray(each.at)]);
  const copy = bytes.slice();
  if (each.at < copy.length) copy[each.at] = each.byte;
  return copy;
}

const zones = sampleZones();
const errors: unknown[] = [];
const path = slowPath({
  zones,
  resolver: { resolve: async () => emptyAnswer(rcodes.NXDOMAIN) },
  mayRecurse: () => true,
  transfers: new Transfers(zones, { allow: [parseCidr('0.0.0.0/0') ?? assert.fail()], journal: new Journal(zones) }),
  cookies: new Cookies({ secrets: [new Uint8Array(16)] }),
  completion: { zone: 'cluster.local' },
  onError: (error) => errors.push(error),
});

for (const protocol of ['udp', 'tcp'] as const) {
  test(`mutated queries over ${protocol} are dropped or answered within the size limit`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...seeds), fc.array(change, { maxLength: 6 }), async (seed, changes) => {
        let bytes = seed;
        for (const each of changes) bytes = mutate(bytes, each);
        const replies = await path(bytes, { address: '192.0.2.1', port: 53, protocol });
        for (const reply of replies) {
          assert.ok(readMessage(reply) !== undefined);
          assert.deepEqual(reply.subarray(0, 2), bytes.subarray(0, 2));
          if (protocol === 'tcp') continue;
          // Without EDNS the limit is 512 bytes.
          assert.ok(reply.length <= 1232);
          if (bytes[10] === 0 && bytes[11] === 0) assert.ok(reply.length <= 512);
        }
        assert.ok(protocol === 'tcp' || replies.length <= 1);
      }),
      { numRuns: 2_000 },
    );
    assert.deepEqual(errors, []);
  });
}
