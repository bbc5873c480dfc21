import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import type { PodRecord } from './record.ts';
import { RecordStore } from './record-store.ts';

test('writes of one record at the same time end with the last one, and damaged records are named', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-records-'));
  try {
    const store = new RecordStore(directory);
    const record = (startedAt: number): PodRecord => ({
      uid: 'u',
      namespace: 'n',
      name: 'p',
      startedAt,
      containers: {},
    });
    await Promise.all(Array.from({ length: 50 }, (_, index) => store.save(record(index))));
    await store.save({ ...record(0), uid: 'broken' });
    await writeFile(join(store.directoryOf('broken'), 'record.json'), '{');
    const { records, damaged } = await store.load();
    assert.deepEqual(
      records.map(({ startedAt }) => startedAt),
      [49],
    );
    assert.deepEqual(damaged, ['broken']);
    const last = store.save(record(50));
    await store.remove('u');
    await last;
    assert.deepEqual((await store.load()).records, []);
  } finally {
    await rm(directory, { recursive: true });
  }
});
