// Other requests wait while a piece of a reply is encoded. So the work for one piece must not grow with the number or the
// size of the objects. Work is counted in characters read from objects and written to the piece.

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { Kind } from '../../api/kind.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import { kinds } from '../../api/kinds/registry.ts';
import { toYaml } from '../../api/schema/write-yaml.ts';
import { Item } from '../cache/item.ts';
import { layoutOf, serialise } from '../cache/layout.ts';
import type { ApiRequest, ListReply } from '../reply.ts';
import { jsonReply } from '../reply.ts';
import { parseRequest } from '../request.ts';
import { encodeReply } from './encode.ts';
import { metadataPresenter } from './presenter.ts';
import type { Presenter } from './presenter.ts';
import { convertedPresenter, protobufPresenter, storedPresenter } from './presenter.ts';
import { tablePresenter } from './table.ts';

const exportKind = kinds.find(({ plural, storage }) => plural === 'serviceexports' && storage !== undefined);
assert.ok(exportKind?.storage !== undefined);
const whole = storedPresenter(configMapKind);
const table = (includeObject: 'Metadata' | 'Object' | 'None'): Presenter =>
  tablePresenter({ kind: configMapKind, version: 'v1', includeObject, whole, clock: () => 0 });

interface Form {
  readonly presenter: Presenter;
  readonly kind: Kind;
}
const forms: Readonly<Record<string, Form>> = {
  'objects as stored': { presenter: whole, kind: configMapKind },
  'objects in another version': {
    presenter: convertedPresenter(exportKind, exportKind.storage),
    kind: exportKind.storage.kind,
  },
  metadata: { presenter: metadataPresenter('v1'), kind: configMapKind },
  'objects in protobuf': { presenter: protobufPresenter(configMapKind), kind: configMapKind },
  'a table with metadata': { presenter: table('Metadata'), kind: configMapKind },
  'a table with objects': { presenter: table('Object'), kind: configMapKind },
  'a table without objects': { presenter: table('None'), kind: configMapKind },
};
const isBinary = ({ presenter }: Pick<Form, 'presenter'>): boolean => presenter.contentType !== 'application/json';

const encodings: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  JSON: {},
  'pretty JSON': { 'user-agent': 'curl/8.0' },
  YAML: { accept: 'application/yaml' },
};
const lists: Readonly<Record<string, readonly [count: number, size: number]>> = {
  'no object': [0, 0],
  'one object': [1, 100],
  '5,000 small objects': [5000, 100],
  '20,000 small objects': [20_000, 100],
  'one object of 1.4 MB': [1, 1_400_000],
  '12 objects of 1.4 MB': [12, 1_400_000],
};

const info = parseRequest('GET', '/api/v1/configmaps');
const requestWith = (headers: Readonly<Record<string, string>>): ApiRequest => ({
  method: 'GET',
  url: '/api/v1/configmaps',
  header: (name) => headers[name],
  body: async () => Buffer.alloc(0),
  user: { name: 'alice', uid: '', groups: [] },
});

/** Objects with many short lines. */
function itemsOf(kind: Kind, count: number, size: number): readonly Item[] {
  const layout = layoutOf(kind);
  const lines = Array.from({ length: Math.ceil(size / 100) }, (_, line) => [`l${line}`, 'x'.repeat(80)]);
  const data = Object.fromEntries(lines) as unknown;
  return Array.from({ length: count }, (_, index) => {
    const object = { metadata: { name: `n${index}`, namespace: 'default', annotations: {} }, data };
    const key = `/registry/configmaps/default/n${index}`;
    return new Item({ key, value: serialise(layout, object), revision: 7, created: 7 }, layout);
  });
}

interface Work {
  readonly pieces: number;
  readonly mostRead: number;
  readonly mostWritten: number;
}

/** Encodes a list and counts the characters read and written for each piece. */
function encode({ presenter }: Form, items: readonly Item[], headers: Readonly<Record<string, string>>): Work {
  let read = 0;
  function* counted(): Generator<Item, void> {
    for (const item of items) {
      read += item.entry.value.length;
      yield item;
    }
  }
  const list = presenter.list(counted(), { resourceVersion: '7' });
  const answer: ListReply = { status: 200, headers: { 'Content-Type': presenter.contentType }, list };
  const reply = encodeReply(answer, requestWith(headers), info);
  assert.ok('body' in reply && typeof reply.body !== 'string' && !Buffer.isBuffer(reply.body));
  let [pieces, mostRead, mostWritten] = [0, 0, 0];
  for (const piece of reply.body) {
    pieces++;
    mostRead = Math.max(mostRead, read);
    mostWritten = Math.max(mostWritten, piece.length);
    read = 0;
  }
  return { pieces, mostRead, mostWritten };
}

suite('the work for one piece is bounded', () => {
  for (const [formName, form] of Object.entries(forms)) {
    for (const [listName, [count, size]] of Object.entries(lists)) {
      const items = itemsOf(form.kind, count, size);
      const largest = Math.max(0, ...items.slice(0, 1).map((item) => item.entry.value.length));
      for (const [encoding, headers] of Object.entries(encodings)) {
        if (isBinary(form) && encoding !== 'JSON') continue;
        test(`${listName}, ${formName}, ${encoding}`, () => {
          const { pieces, mostRead, mostWritten } = encode(form, items, headers);
          assert.ok(mostRead <= (128 << 10) + largest, `${mostRead} characters of objects are read for one piece`);
          // YAML and pretty JSON can pause within an object; compact JSON of one object is a copy.
          const atomic = encoding === 'JSON' ? 2 * largest : 4096;
          assert.ok(mostWritten <= 2 * (128 << 10) + atomic, `one piece has ${mostWritten} characters`);
          assert.ok(pieces >= 1);
        });
      }
    }
  }
});

suite('the pieces of a list concatenate to the encoded list', () => {
  for (const [formName, { presenter, kind }] of Object.entries(forms)) {
    if (isBinary({ presenter })) continue; // protobuf.test.ts
    for (const count of [0, 1, 3000]) {
      test(`${count} objects, ${formName}`, () => {
        const items = itemsOf(kind, count, 100);
        const textOf = (headers: Readonly<Record<string, string>>): string => {
          const list = presenter.list(items, { resourceVersion: '7', continue: 'a', remainingItemCount: 3 });
          const answer = { status: 200, headers: { 'Content-Type': 'application/json' }, list };
          const reply = encodeReply(answer, requestWith(headers), info);
          assert.ok('body' in reply && typeof reply.body !== 'string' && !Buffer.isBuffer(reply.body));
          return [...reply.body].join('');
        };
        const json = textOf({});
        const value = JSON.parse(json) as { readonly items?: unknown[]; readonly rows?: unknown[] };
        assert.equal((value.items ?? value.rows)?.length, count);
        assert.equal(`${JSON.stringify(value)}\n`, json);
        assert.equal(textOf({ 'user-agent': 'curl/8.0' }), `${JSON.stringify(value, null, 2)}\n`);
        assert.equal(textOf({ accept: 'application/yaml' }), toYaml(value));
      });
    }
  }
});

suite('a large object is encoded in pieces', () => {
  const [item] = itemsOf(configMapKind, 1, 1_400_000);
  assert.ok(item !== undefined);
  for (const [encoding, headers] of Object.entries(encodings)) {
    if (encoding === 'JSON') continue;
    test(encoding, () => {
      const reply = encodeReply(jsonReply(200, `${whole.object(item)}\n`), requestWith(headers), info);
      assert.ok('body' in reply && typeof reply.body !== 'string' && !Buffer.isBuffer(reply.body));
      const lengths = [...reply.body].map((piece) => piece.length);
      assert.ok(lengths.length >= 10);
      assert.ok(Math.max(...lengths) <= (128 << 10) + 4096);
    });
  }
});
