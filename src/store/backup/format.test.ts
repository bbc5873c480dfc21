import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { openMemoryStore } from '../memory/memory.ts';
import { committed } from '../testing/open.ts';
import type { Entry } from '../store.ts';
import { BackupDecoder, encodeBackup, readBackup } from './format.ts';
import { snapshot } from './snapshot.ts';

const now = new Date('2026-01-02T03:04:05Z');
const values = ['{"a":1}', 'k8s:enc:aesgcm:v1:key1:AAAA', '"Grüße,\u2028 日本 😀 \\n \\" \u0000"', ''];

async function linesOfStore(): Promise<string[]> {
  await using store = openMemoryStore();
  for (const [index, value] of values.entries()) await committed(store, { key: `/registry/${index}`, value });
  return [...encodeBackup(await snapshot(store, 'east', now))].join('').split('\n').slice(0, -1);
}

async function* streamOf(lines: Iterable<string>): AsyncGenerator<string, void> {
  yield* lines;
}

async function collected(records: AsyncIterable<Entry>): Promise<Entry[]> {
  const entries: Entry[] = [];
  for await (const entry of records) entries.push(entry);
  return entries;
}

async function decoded(lines: readonly string[]): Promise<Entry[]> {
  const { records } = await readBackup(streamOf(lines), 'x.backup');
  return collected(records);
}

describe('a backup', () => {
  it('has the state at one revision, whatever is written while it is encoded', async () => {
    await using store = openMemoryStore();
    for (const [index, value] of values.entries()) await committed(store, { key: `/registry/${index}`, value });
    const backup = await snapshot(store, 'east', now);
    const pieces = encodeBackup(backup);
    await committed(store, { key: '/registry/0', value: 'later' }, { key: '/registry/1', value: undefined });
    await store.compact(store.revision);
    const lines = [...pieces].join('').split('\n').slice(0, -1);
    const { header, records } = await readBackup(streamOf(lines), 'x.backup');
    assert.deepEqual(header, {
      kind: 'FairleadBackup',
      version: 1,
      cluster: 'east',
      revision: 5,
      time: '2026-01-02T03:04:05.000Z',
      damaged: [],
    });
    const want = values.map((value, index) => ({
      key: `/registry/${index}`,
      value,
      revision: index + 2,
      created: index + 2,
    }));
    assert.deepEqual(await collected(records), want);
  });

  it('is encoded in pieces of bounded size', () => {
    function* entries(): Generator<Entry, void> {
      for (let i = 0; i < 2000; i++) {
        yield { key: `/registry/${String(i).padStart(8, '0')}`, value: 'x'.repeat(1000), revision: 2, created: 2 };
      }
    }
    const header = { kind: 'FairleadBackup', version: 1, cluster: 'a', revision: 2, time: '' } as const;
    const lengths = Array.from(encodeBackup({ header, entries: entries() }), (piece) => piece.length);
    assert.ok(lengths.length > 10 && Math.max(...lengths) < 140_000, String(lengths));
  });

  it('is rejected when it is truncated after any line', async () => {
    const lines = await linesOfStore();
    for (let count = 0; count < lines.length; count++) {
      const message =
        count === 0 ? /^x.backup is empty: use another backup$/ : /^x.backup is truncated after line \d: /;
      await assert.rejects(decoded(lines.slice(0, count)), { code: 'STORE_BACKUP', message });
    }
    assert.equal((await decoded(lines)).length, values.length);
  });

  it('is rejected when any byte is changed', async () => {
    const text = (await linesOfStore()).join('\n');
    for (let at = 0; at < text.length; at++) {
      if (text[at] === '\n') continue; // joins lines, which is not JSON
      const changed = `${text.slice(0, at)}${text[at] === '7' ? '8' : '7'}${text.slice(at + 1)}`;
      await assert.rejects(decoded(changed.split('\n')), { code: 'STORE_BACKUP' }, `byte ${at}`);
    }
  });

  const refused: readonly (readonly [name: string, change: (lines: string[]) => string[], message: RegExp])[] = [
    [
      'a line is missing',
      (lines) => lines.toSpliced(2, 1),
      /it has 3 records, and its last line counts 4: use another/,
    ],
    ['a line is repeated', (lines) => lines.toSpliced(2, 0, lines[2] ?? ''), /line 4 is out of order/],
    ['lines follow its end', (lines) => [...lines, lines[1] ?? ''], /there are lines after its end/],
    ['a record has no value', (lines) => lines.toSpliced(1, 1, '["/registry/0",2,2]'), /line 2 is not a record/],
    [
      'it is of a newer format',
      (lines) => lines.toSpliced(0, 1, (lines[0] ?? '').replace('"version":1', '"version":2')),
      /^x.backup was written by a newer release \(format 2\): use that release or a newer one$/,
    ],
    [
      'it is another file',
      () => ['SQLite format 3\u0000'],
      /^x.backup is not a backup of a store: pass a file of `fairlead/,
    ],
    ['it is another JSON file', () => ['{"kind":"List"}'], /^x.backup is not a backup of a store/],
    ['it has no header', (lines) => lines.slice(1), /^x.backup is not a backup of a store/],
    ['it is null', () => ['null'], /^x.backup is not a backup of a store/],
  ];
  for (const [name, change, message] of refused) {
    it(`is rejected when ${name}`, async () => {
      await assert.rejects(decoded(change(await linesOfStore())), { code: 'STORE_BACKUP', message });
    });
  }

  it('reports how many records were read', async () => {
    const decoder = new BackupDecoder('x.backup');
    for (const line of await linesOfStore()) decoder.take(line);
    decoder.end();
    assert.equal(decoder.records, values.length);
  });
});
