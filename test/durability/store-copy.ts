import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { openEtcdStore } from '../../src/store/etcd/etcd.ts';
import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import type { Change, Entry, Store } from '../../src/store/store.ts';
import { testEtcd } from '../harness/store.ts';

/** The content of the store of a killed server. */
export interface Remains {
  readonly revision: number;
  readonly entries: readonly Entry[];
  /** All changes after the given revision. */
  readonly changes: readonly Change[];
}

/** Copies the files of a killed server, so that reading them does not change what the next process opens. */
export async function copyStore(directory: string): Promise<string> {
  const copy = await mkdtemp(join(tmpdir(), 'fairlead-remains-'));
  await cp(directory, copy, { recursive: true });
  return copy;
}

/** Reads a copy and deletes it. */
export async function readRemains(copy: string, since: number): Promise<Remains> {
  try {
    await using store = await openSqliteStore({ path: copy });
    return await remainsOf(store, since);
  } finally {
    await rm(copy, { recursive: true });
  }
}

/** The content of the store of a killed server: of its files, or of etcd. */
export async function remainsOfKilled(directory: string, since: number): Promise<() => Promise<Remains>> {
  if (testEtcd === undefined) {
    const copy = await copyStore(join(directory, 'clusters', 'fairlead'));
    return () => readRemains(copy, since);
  }
  const endpoints = testEtcd.split(',');
  return async () => {
    await using store = await openEtcdStore({ endpoints, prefix: directory, keepMs: 0 });
    return await remainsOf(store, since);
  };
}

async function remainsOf(store: Store, since: number): Promise<Remains> {
  const { entries, revision } = await store.range('/');
  return { revision, entries, changes: await changesOf(store, Math.max(since, store.compacted)) };
}

async function changesOf(store: Store, since: number): Promise<Change[]> {
  const changes: Change[] = [];
  if (since >= store.revision) return changes;
  const stop = new AbortController();
  await new Promise<void>((resolve, reject) => {
    const onChanges = (some: readonly Change[], reached: number): void => {
      changes.push(...some);
      if (reached >= store.revision) resolve();
    };
    store.watch('/', since, { onChanges, onEnd: reject }, stop.signal).catch(reject);
  });
  stop.abort();
  return changes;
}
