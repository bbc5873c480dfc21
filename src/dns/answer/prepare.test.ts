import assert from 'node:assert/strict';
import { test } from 'node:test';
import { types } from '../../dnswire/codes.ts';
import { isSearched } from './completion.ts';
import type { PreparedAnswer } from '../prepared.ts';
import { maxAnswerBytes } from '../prepared.ts';
import { prepare, prepareZone } from './prepare.ts';
import { sampleZones } from './testing/sample.ts';

const svc = 'svc.cluster.local';
const zones = sampleZones();
const hex = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('hex');

test('compresses owners to a pointer to the question', () => {
  const prepared = prepare(zones, `v4.default.${svc}`);
  assert.equal(prepared?.zone, 'cluster.local');
  assert.equal(prepared?.slowPath, undefined);
  assert.deepEqual(
    prepared?.answers.map(({ type }) => type),
    [types.A],
  );
  assert.equal(hex(prepared?.answers[0]?.answers?.[0]), 'c00c' + '0001' + '0001' + '0000001e' + '0004' + '0a600004');
});

test('RFC 2782: does not compress the target of an SRV, and compresses the owner of its address', () => {
  const [srv] = prepare(zones, `_pg._tcp.db.default.${svc}`)?.answers ?? [];
  assert.equal(srv?.answers?.length, 3);
  assert.ok(
    hex(srv?.answers?.[0]).endsWith(
      Buffer.from('\x04db-0\x02db\x07default\x03svc\x07cluster\x05local\0').toString('hex'),
    ),
  );
  // `db` begins after 12 bytes of header, _pg and _tcp.
  assert.ok(
    hex(srv?.additional[0]).startsWith(`${Buffer.from('\x04db-0').toString('hex')}c0${(12 + 4 + 5).toString(16)}`),
  );
  assert.equal(srv?.additional.length, 3);
});

const queries = [
  { name: 'other types at an alias', given: `inside.default.${svc}`, want: 'types' },
  { name: 'names below a dynamic name', given: 'default.pod.cluster.local', want: 'descendants' },
  { name: 'missing names of a zone with fallthrough', given: '2.10.in-addr.arpa', want: 'descendants' },
  { name: 'search-path completion: names below a namespace', given: `default.${svc}`, want: 'descendants' },
  { name: 'search-path completion: no names below a Service', given: `web.default.${svc}`, want: undefined },
  { name: 'nothing at an empty non-terminal', given: svc, want: undefined },
];

for (const { name, given, want } of queries) {
  test(`slow path: ${name}`, () => {
    const all = sampleZones({ onDemand: () => undefined });
    all.put('Namespace/default', [], ['default.pod.cluster.local']);
    const isSlowBelow = (node: { readonly name: string }): boolean => isSearched(node.name, { zone: 'cluster.local' });
    assert.equal(prepare(all, given, { isSlowBelow })?.slowPath, want);
  });
}

test('prepares an empty non-terminal without answers, and no missing name', () => {
  assert.deepEqual(prepare(zones, svc)?.answers, []);
  assert.equal(prepare(zones, `nobody.${svc}`), undefined);
  assert.equal(prepare(zones, 'example.org'), undefined);
});

test('omits records that cannot be encoded', () => {
  const broken = sampleZones();
  const data = [{ type: 'CNAME' as const, target: `${'x'.repeat(64)}.org` }];
  broken.put('Service/default/broken', [{ owner: `broken.default.${svc}`, type: 'CNAME', ttl: 5, data }]);
  assert.deepEqual(prepare(broken, `broken.default.${svc}`)?.answers, []);
});

test('prepares the SOA of a zone with the TTL of negative answers', () => {
  const { apex, soa, soaTtl } = prepareZone(zones.zoneOf(svc) ?? assert.fail());
  assert.equal(apex, 'cluster.local');
  assert.equal(soaTtl, 5);
  assert.equal(soa.serial, 1_700_000_000);
});

test('omits additional addresses beyond the size of a message, at little cost for many endpoints', () => {
  const many = sampleZones();
  const owner = `_x._tcp.many.default.${svc}`;
  const fill = (count: number): PreparedAnswer => {
    const hosts = Array.from({ length: count }, (_, index) => `h${index}.many.default.${svc}`);
    const srv = hosts.map((target) => ({ type: 'SRV' as const, priority: 0, weight: 1, port: 80, target }));
    const addresses = hosts.map((host, index) => ({
      owner: host,
      type: 'A' as const,
      ttl: 5,
      data: [{ type: 'A' as const, address: `10.${index >> 8}.${index & 255}.1` }],
    }));
    many.put('Service/default/many', [{ owner, type: 'SRV', ttl: 5, data: srv }, ...addresses]);
    const [prepared] = prepare(many, owner)?.answers ?? [];
    assert.ok(prepared);
    return prepared;
  };
  const bytesOf = (records: readonly Uint8Array[] = []): number => records.reduce((sum, each) => sum + each.length, 0);
  assert.deepEqual([fill(100).answers?.length, fill(100).additional.length], [100, 100]);
  const { answers, additional } = fill(1000);
  assert.equal(answers?.length, 1000);
  assert.ok(additional.length > 0 && additional.length < 1000, `${additional.length} of 1000`);
  assert.ok(bytesOf(answers) + bytesOf(additional) <= maxAnswerBytes);
  assert.deepEqual(fill(2000), { type: types.SRV, answers: undefined, additional: [] }, 'measured once encoded');
  assert.deepEqual(fill(5000), { type: types.SRV, answers: undefined, additional: [] }, 'not even encoded');
});
