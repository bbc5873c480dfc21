// The limit of the machine: the same bytes made durable by the store alone, without a server.

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openSqliteStore } from '../src/store/sqlite/sqlite.ts';
import type { Store } from '../src/store/store.ts';
import type { Result } from './api.bench.ts';

/** Durable commits of two keys, as for a new Service. */
export async function measureLimit(): Promise<Result[]> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-limit-'));
  const store = await openSqliteStore({ path: directory });
  try {
    await commits(store, { writers: 64, count: 1000, tag: 'warm' });
    return [
      {
        name: 'store alone, 1 writer',
        unit: '/s',
        value: await commits(store, { writers: 1, count: 500, tag: 'one' }),
      },
      {
        name: 'store alone, 64 writers',
        unit: '/s',
        value: await commits(store, { writers: 64, count: 10_000, tag: 'many' }),
      },
    ];
  } finally {
    await store.close();
    await rm(directory, { recursive: true, force: true });
  }
}

async function commits(
  store: Store,
  { writers, count, tag }: { readonly writers: number; readonly count: number; readonly tag: string },
): Promise<number> {
  const [object, claim] = ['x'.repeat(1900), 'y'.repeat(400)];
  let next = 0;
  const started = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async () => {
      while (next < count) {
        const key = `${tag}-${next++}`;
        await store.commit([
          { key: `/registry/services/default/${key}`, value: object, expect: 0 },
          { key: `/registry/ipaddresses/${key}`, value: claim, expect: 0 },
        ]);
      }
    }),
  );
  return count / ((performance.now() - started) / 1000);
}
