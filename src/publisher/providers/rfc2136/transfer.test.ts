import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { RawRecord } from '../../../dnswire/record.ts';
import { Transfer } from './transfer.ts';
import { address, soa } from './testing/hostile-server.ts';

/** The content of a zone as `name type values`. */
async function contentOf(transfer: Transfer): Promise<readonly string[]> {
  const { content } = await transfer.result();
  return [...content.values()]
    .flat()
    .filter(({ type }) => type !== 'SOA')
    .map(({ name, type, values }) => `${name} ${type} ${values.join(' ')}`);
}

const transferOf = (base: Transfer | undefined, ...messages: readonly (readonly RawRecord[])[]): Promise<Transfer> =>
  (base === undefined ? Promise.resolve(undefined) : base.result()).then((mirror) => {
    const transfer = new Transfer(mirror);
    for (const message of messages) transfer.add(message);
    return transfer;
  });

describe('a transfer', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((label, index) => address(`${label}.example.org`, index));
  assert.ok(a && b && c);

  test('of a whole zone may be cut into messages anywhere', async () => {
    const records = [soa(5), a, b, c, soa(5)];
    for (let cut = 1; cut < records.length; cut++) {
      const transfer = await transferOf(undefined, records.slice(0, cut), records.slice(cut));
      assert.deepEqual(await contentOf(transfer), [
        'a.example.org A 192.0.2.0',
        'b.example.org A 192.0.2.1',
        'c.example.org A 192.0.2.2',
      ]);
    }
  });

  test('of differences changes what is known, over several serials', async () => {
    const known = await transferOf(undefined, [soa(5), a, b, soa(5)]);
    const differences = [soa(7), soa(5), a, soa(6), c, soa(6), b, soa(7), a, soa(7)];
    const next = await transferOf(known, differences);
    assert.ok(next.isComplete);
    const zone = await next.result();
    assert.equal(zone.serial, 7);
    assert.deepEqual([...(zone.takeChanged() ?? ['any'])], ['any'], 'the first content counts as changed');
    assert.deepEqual(await contentOf(next), ['a.example.org A 192.0.2.0', 'c.example.org A 192.0.2.2']);
  });

  test('of differences that do not continue the known serial is rejected', async () => {
    const known = await transferOf(undefined, [soa(5), a, soa(5)]);
    await assert.rejects(transferOf(known, [soa(7), soa(6), a, soa(7), b, soa(7)]), /do not continue the known serial/);
  });

  test('is rejected when it has more records, or more bytes, than a zone may have', () => {
    const many = new Transfer(undefined);
    const batch = Array.from({ length: 1000 }, () => a);
    many.add([soa(1)]);
    assert.throws(() => {
      for (;;) many.add(batch);
    }, /more than 1000000 records/);
    const large = new Transfer(undefined);
    const text = { ...a, type: 16, data: new Uint8Array(60_000) };
    large.add([soa(1)]);
    assert.throws(() => {
      for (;;) large.add([text]);
    }, /more than 256 MiB/);
  });

  test('of one set with very many records costs no search for each', async () => {
    const transfer = new Transfer(undefined);
    transfer.add([soa(1)]);
    for (let index = 0; index < 100_000; index++)
      transfer.add([{ ...a, data: Uint8Array.of(10, index >> 16, index >> 8, index) }]);
    transfer.add([soa(1)]);
    const { content } = await transfer.result();
    assert.equal(content.get('a.example.org')?.[0]?.values.length, 100_000);
  });
});
