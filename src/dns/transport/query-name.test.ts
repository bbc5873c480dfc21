import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { encodeName } from '../../dnswire/name.ts';
import { QueryName } from './query-name.ts';

function nameIn(text: string): QueryName {
  const wire = encodeName(text) ?? assert.fail(text);
  const name = new QueryName();
  assert.equal(name.read(wire, 0, wire.length), wire.length);
  return name;
}

function hashOf(text: string, key0: number = 1, key1: number = 2): number {
  const name = nameIn(text);
  name.prepare(key0, key1);
  return name.hash(0);
}

test('the hash depends on every byte, on label boundaries and on the key', () => {
  const base = 'abcdefgh.ijklmno.pq';
  const changed = Array.from(
    base,
    (letter, at) => `${base.slice(0, at)}${letter === '.' ? 'x' : 'z'}${base.slice(at + 1)}`,
  );
  const cut = ['', 'a', 'aa', 'aaa', 'aaaa', 'aaaaa', 'a.a', 'a.a.a', 'aa.a', 'a.aa', 'b.a'];
  const hashes = [base, ...changed, ...cut].map((name) => hashOf(name));
  const all = new Set([...hashes, hashOf(base, 1, 3), hashOf(base, 0, 2)]);
  assert.equal(all.size, 1 + base.length + cut.length + 2);
});

test('suffixes have the same hash as the names themselves', () => {
  const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
  const reused = new QueryName();
  const property = fc.property(fc.array(label, { maxLength: 8 }), (labels) => {
    const wire = encodeName(labels.join('.')) ?? assert.fail();
    reused.read(wire, 0, wire.length);
    reused.prepare(5, 6);
    assert.equal(reused.labels, labels.length);
    for (let first = 0; first <= labels.length; first++) {
      assert.equal(reused.hash(first), hashOf(labels.slice(first).join('.'), 5, 6));
      assert.equal(
        reused.length - (reused.starts[first] ?? 0),
        (encodeName(labels.slice(first).join('.')) ?? '').length,
      );
    }
  });
  fc.assert(property, { numRuns: 300 });
});

test('parses names of the maximum length', () => {
  const many = Array.from({ length: 127 }, () => 'a').join('.');
  const long = [63, 63, 63, 61].map((size) => 'x'.repeat(size)).join('.');
  for (const name of [many, long]) assert.notEqual(hashOf(name), hashOf(name.slice(2)));
  assert.deepEqual([nameIn(many).labels, nameIn(many).length], [127, 255]);
  assert.deepEqual([nameIn(long).labels, nameIn(long).length], [4, 255]);
});

const broken: readonly { readonly name: string; readonly bytes: readonly number[] }[] = [
  { name: 'nothing', bytes: [] },
  { name: 'a label cut off', bytes: [3, 97, 97] },
  { name: 'no final zero', bytes: [1, 97] },
  { name: 'a pointer', bytes: [0xc0, 12] },
  { name: 'a label of 64 bytes', bytes: [64, ...Array.from({ length: 64 }, () => 97), 0] },
  {
    name: '256 bytes',
    bytes: [...[63, 63, 63, 62].flatMap((size) => [size, ...Array.from({ length: size }, () => 97)]), 0],
  },
];
for (const { name, bytes } of broken) {
  test(`rejects a malformed name: ${name}`, () => {
    assert.equal(new QueryName().read(Uint8Array.from(bytes), 0, bytes.length), 0);
  });
}
