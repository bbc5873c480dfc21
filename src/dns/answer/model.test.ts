// Random zones and queries: replies are decoded with an independent decoder and compared with a naive model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { RecordData, RecordType, RecordSet } from '../../dnswire/data.ts';
import { Zones } from '../records/zones.ts';
import { Answerer } from '../transport/answerer.ts';
import { TableReader } from '../transport/lookup.ts';
import { AnswerTable } from '../transport/table.ts';
import { slowPath } from './slow-path.ts';
import type { Plain } from './testing/model.ts';
import { model, contentOf, sorted } from './testing/model.ts';
import { prepare, prepareZone } from './prepare.ts';
import { queryBytes } from './testing/sample.ts';

const apexes = ['z', 'in.z'];

// Few labels, so that names collide.
const label = fc.constantFrom('a', 'b', '_p');
const inside = fc
  .tuple(fc.array(label, { minLength: 1, maxLength: 2 }), fc.constantFrom(...apexes))
  .map(([labels, apex]) => [...labels, apex].join('.'));
const target = fc.oneof(
  { weight: 5, arbitrary: inside },
  { weight: 1, arbitrary: fc.constantFrom('example.org', 'a.y') },
);

const entry: fc.Arbitrary<RecordData> = fc.oneof(
  fc.nat(3).map((last) => ({ type: 'A' as const, address: `10.0.0.${last}` })),
  fc.nat(3).map((last) => ({ type: 'AAAA' as const, address: `fd00::${last + 1}` })),
  target.map((to) => ({ type: 'CNAME' as const, target: to })),
  target.map((to) => ({ type: 'PTR' as const, target: to })),
  fc.tuple(fc.nat(2), target).map(([port, to]) => ({ type: 'SRV' as const, priority: 0, weight: 1, port, target: to })),
  fc.nat(3).map((text) => ({ type: 'TXT' as const, text: [`t${text}`] })),
);

function dataText(data: RecordData): string {
  switch (data.type) {
    case 'A':
    case 'AAAA':
      return data.address;
    case 'TXT':
      return data.text.join(' ');
    case 'SRV':
      return `${data.priority} ${data.weight} ${data.port} ${data.target}`;
    case 'NS':
    case 'CNAME':
    case 'PTR':
      return data.target;
    case 'SOA':
      return 'soa';
  }
}

const cluster = fc.array(fc.record({ owner: inside, data: entry }), { maxLength: 12 }).map((all) => {
  const kept = new Map<string, { readonly owner: string; readonly data: RecordData }>();
  for (const each of all) {
    // A name has at most one CNAME.
    const key = `${each.owner} ${each.data.type} ${each.data.type === 'CNAME' ? '' : dataText(each.data)}`;
    if (!kept.has(key)) kept.set(key, each);
  }
  return [...kept.values()];
});
type Cluster = typeof cluster extends fc.Arbitrary<infer Value> ? Value : never;

const askable = ['A', 'AAAA', 'CNAME', 'PTR', 'SRV', 'TXT', 'HTTPS', 'MX', 'TYPE65280'];

/** A random query, half of the time for an existing record. */
const anyQuestion = fc.record({
  /** The record to query, if any. */
  record: fc.option(fc.nat(11), { nil: undefined }),
  name: fc.oneof(
    { weight: 8, arbitrary: inside },
    { weight: 1, arbitrary: fc.constantFrom('z', 'in.z', 'y', 'example.org') },
  ),
  type: fc.constantFrom(...askable),
});
type AnyQuestion = typeof anyQuestion extends fc.Arbitrary<infer Value> ? Value : never;

function questionFor(
  all: Cluster,
  { record, name, type }: AnyQuestion,
): { readonly name: string; readonly type: string } {
  const meant = record === undefined ? undefined : all[record];
  return meant === undefined ? { name, type } : { name: meant.owner, type: meant.data.type };
}

function zonesOf(all: Cluster): Zones {
  const zones = new Zones(
    apexes.map((apex) => ({ apex })),
    { now: () => 1_700_000_000_000 },
  );
  // Each record has a source of its own, so that merging is tested too.
  for (const [index, { owner, data }] of all.entries()) {
    const set: RecordSet = { owner, type: data.type satisfies RecordType, ttl: 5, data: [data] };
    zones.put(`Service/default/${index}`, [set]);
  }
  return zones;
}

const plainOf = (all: Cluster): readonly Plain[] =>
  all.map(({ owner, data }) => ({ owner, type: data.type, data: dataText(data) }));

const client = { address: '192.0.2.1', port: 53, protocol: 'tcp' } as const;

test('every reply can be decoded and equals the model', async () => {
  await fc.assert(
    fc.asyncProperty(cluster, fc.array(anyQuestion, { minLength: 1, maxLength: 5 }), async (all, questions) => {
      const path = slowPath({ zones: zonesOf(all) });
      for (const { name, type } of questions.map((each) => questionFor(all, each))) {
        const [bytes = new Uint8Array()] = await path(queryBytes(name, type), client);
        assert.deepEqual(
          sorted(contentOf(bytes)),
          sorted(model({ apexes, records: plainOf(all) }, name, type)),
          `${name} ${type}`,
        );
      }
    }),
    { numRuns: 300 },
  );
});

test('over UDP a reply equals the model, or is truncated with TC', async () => {
  await fc.assert(
    fc.asyncProperty(cluster, anyQuestion, fc.option(fc.nat(2000), { nil: undefined }), async (all, given, size) => {
      const { name, type } = questionFor(all, given);
      const path = slowPath({ zones: zonesOf(all) });
      const query = queryBytes(name, type, size === undefined ? {} : { size });
      const [bytes = new Uint8Array()] = await path(query, { ...client, protocol: 'udp' });
      assert.ok(bytes.length <= Math.max(512, Math.min(size ?? 512, 1232)));
      const content = contentOf(bytes);
      const want = model({ apexes, records: plainOf(all) }, name, type);
      assert.equal(content.rcode, want.rcode);
      for (const answer of content.answers) assert.ok(want.answers.includes(answer));
      const isWhole = content.answers.length === want.answers.length && content.denies === want.denies;
      assert.equal(((bytes[2] ?? 0) & 2) !== 0, !isWhole);
    }),
    { numRuns: 200 },
  );
});

/** The reply of a worker; undefined if it needs the slow path. */
function workerFor(zones: Zones): (query: Uint8Array, overUdp: boolean) => Uint8Array | undefined {
  const table = new AnswerTable();
  for (const zone of zones.zones) {
    table.putZone(prepareZone(zone));
    for (const name of zones.names(zone.apex)) table.put(prepare(zones, name) ?? assert.fail(name));
  }
  const worker = new Answerer(new TableReader(table.share()));
  const out = new Uint8Array(70_000);
  return (query, overUdp) => {
    const length = worker.answer(query, 0, query.length, out, 0, overUdp);
    return length > 0 ? out.slice(0, length) : undefined;
  };
}

test('workers and the slow path return the same replies', async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(
      cluster,
      fc.array(anyQuestion, { minLength: 1, maxLength: 5 }),
      fc.option(fc.nat(2000), { nil: undefined }),
      async (all, questions, size) => {
        const zones = zonesOf(all);
        const path = slowPath({ zones });
        const worker = workerFor(zones);
        for (const { name, type } of questions.map((each) => questionFor(all, each))) {
          const query = queryBytes(name, type, size === undefined ? {} : { size });
          const bytes = worker(query, false);
          // Aliases and names outside our zones need the slow path.
          if (bytes === undefined) continue;
          answered++;
          const [full = new Uint8Array()] = await path(query, client);
          assert.deepEqual(sorted(contentOf(bytes)), sorted(contentOf(full)), `${name} ${type}`);
          assert.deepEqual(bytes.subarray(0, 12), full.subarray(0, 12));
          const [udp = new Uint8Array()] = await path(query, { ...client, protocol: 'udp' });
          // Flags, including TC, and the numbers of answer and authority records.
          assert.deepEqual(worker(query, true)?.subarray(0, 10), udp.subarray(0, 10), `${name} ${type} over UDP`);
        }
      },
    ),
    { numRuns: 200 },
  );
  assert.ok(answered > 100, `workers answered ${answered}`);
});
