import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { encodeName } from '../../dnswire/name.ts';
import { QueryName } from './query-name.ts';
import { nameBytes } from './layout.ts';
import { TableReader } from './lookup.ts';
import { empty, named, zone } from './testing/sample.ts';
import { AnswerTable } from './table.ts';

const wire = (name: string): Uint8Array => encodeName(name) ?? assert.fail(name);

function nameIn(bytes: Uint8Array): QueryName {
  const name = new QueryName();
  assert.equal(name.read(bytes, 0, bytes.length), bytes.length);
  return name;
}

/** The number of addresses of a name in a table; undefined: no such name. */
function addresses(reader: TableReader, name: string): number | undefined {
  const bytes = wire(name);
  const block = reader.find(nameIn(bytes));
  if (block === 0) return undefined;
  assert.deepEqual(reader.bytes.slice(block + nameBytes, block + nameBytes + bytes.length), bytes);
  const answers = (reader.words[(block >> 2) + 2] ?? 0) & 0xff;
  return answers === 0 ? 0 : reader.halves[((block + nameBytes + bytes.length + 1) >> 1) + 1];
}

test('equals a map after random puts and deletes', () => {
  const name = fc.integer({ min: 0, max: 400 }).map((number) => `n${number}.svc.cluster.local`);
  const step = fc.oneof(
    fc.record({ name, addresses: fc.integer({ min: 0, max: 40 }) }),
    fc.record({ name, addresses: fc.constant(undefined) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 1500, size: 'max' }), (steps) => {
      const table = new AnswerTable();
      const reader = new TableReader(table.share());
      const model = new Map<string, number>();
      for (const { name: which, addresses: count } of steps) {
        if (count === undefined) table.delete(which);
        else table.put(count === 0 ? empty(which) : named(which, count));
        if (count === undefined) model.delete(which);
        else model.set(which, count);
        assert.equal(addresses(reader, which), count);
      }
      assert.equal(table.size.names, model.size);
      for (let number = 0; number <= 400; number++) {
        const which = `n${number}.svc.cluster.local`;
        assert.equal(addresses(reader, which), model.get(which));
      }
    }),
    { numRuns: 20 },
  );
});

test('reuses a replaced block only after its readers have finished', () => {
  const table = new AnswerTable();
  const reader = new TableReader(table.share());
  table.put(named('web.cluster.local', 1));
  reader.begin();
  const bytes = wire('web.cluster.local');
  const block = reader.find(nameIn(bytes));
  const before = reader.bytes.slice(block, block + 64);
  const churn = (): void => {
    for (let turn = 0; turn < 2000; turn++) table.put(named('web.cluster.local', 1));
  };
  churn();
  assert.deepEqual(reader.bytes.slice(block, block + 64), before);
  assert.ok(table.size.usedBytes > 2000 * 64, 'nothing that the reader may see was reused');
  reader.end();
  churn();
  assert.ok(table.size.usedBytes < 300 * 100, `all but the last few were freed: ${table.size.usedBytes}`);
});

test('memory: 200,000 names with an address take less than 30 MB, and changing them little more', () => {
  const table = new AnswerTable();
  const put = (count: number): void => {
    for (let index = 0; index < count; index++) {
      table.put(named(`service-${index}.namespace-${index % 100}.svc.cluster.local`));
    }
  };
  put(200_000);
  const once = table.size.heldBytes;
  assert.ok(once < 30_000_000, `${once} bytes`);
  put(50_000);
  assert.ok(table.size.heldBytes < once + 1_000_000, `${table.size.heldBytes} bytes`);
});

test('a reader sees names that were put after its table grew', () => {
  const table = new AnswerTable();
  const reader = new TableReader(table.share());
  const held = table.size.heldBytes;
  for (let index = 0; index < 20_000; index++) table.put(named(`s${index}.cluster.local`));
  assert.ok(table.size.heldBytes > held);
  assert.equal(addresses(reader, 's19999.cluster.local'), 1);
  assert.equal(addresses(reader, 's0.cluster.local'), 1);
});

test('rejects invalid input without changing the table', () => {
  const table = new AnswerTable({ maxBytes: 1024 * 1024 });
  assert.throws(() => table.put(named(`${'x'.repeat(64)}.cluster.local`)), /is not a domain name/);
  assert.throws(() => {
    for (let index = 0; ; index++) table.put(named(`s${index}.cluster.local`));
  }, /the DNS table reached its limit/);
  const reader = new TableReader(table.share());
  assert.equal(addresses(reader, 's0.cluster.local'), 1);
  table.delete('s0.cluster.local');
  assert.equal(addresses(reader, 's0.cluster.local'), undefined);
  table.put(zonedName('s1.cluster.local'));
});

const zonedName = (name: string): ReturnType<typeof named> => ({ ...named(name), zone: 'other' });

test('has at most 64 readers at a time', () => {
  const table = new AnswerTable();
  table.putZone(zone(1));
  const shares = Array.from({ length: 64 }, () => table.share());
  assert.throws(() => table.share(), /at most 64 readers/);
  const [first] = shares;
  assert.ok(first);
  table.unshare(first);
  assert.equal(table.share().reader, first.reader);
});

test('ignores unshare of a share of another table', () => {
  const one = new AnswerTable();
  const other = new AnswerTable();
  const share = one.share();
  const mine = other.share();
  other.unshare(share);
  assert.notEqual(other.share().reader, mine.reader);
  one.unshare(share);
  assert.equal(one.share().reader, share.reader);
});
