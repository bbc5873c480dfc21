import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CompactionSchedule, runCompactor } from './compactor.ts';
import { openMemoryStore } from './memory/memory.ts';

test('compaction is due for old revisions or too many of them', () => {
  const schedule = new CompactionSchedule({ keepMs: 1000, maxRevisions: 100 });
  const looks: readonly { at: number; revision: number; compacted: number; want: number | undefined; why: string }[] = [
    { at: 0, revision: 10, compacted: 0, want: undefined, why: 'nothing is old' },
    { at: 500, revision: 50, compacted: 0, want: undefined, why: 'nothing is old' },
    { at: 999, revision: 60, compacted: 0, want: undefined, why: 'nothing is old' },
    { at: 1000, revision: 60, compacted: 0, want: 10, why: 'revision 10 is of a second ago' },
    { at: 1001, revision: 60, compacted: 10, want: undefined, why: 'done already' },
    { at: 1400, revision: 110, compacted: 10, want: undefined, why: 'as many as may be kept' },
    { at: 1410, revision: 120, compacted: 10, want: undefined, why: 'a few more are let be' },
    { at: 1420, revision: 121, compacted: 10, want: 21, why: 'a tenth more than may be kept' },
    { at: 1500, revision: 121, compacted: 21, want: 50, why: 'revision 50 is of a second ago' },
    { at: 9000, revision: 121, compacted: 50, want: 121, why: 'everything is old' },
    { at: 20000, revision: 121, compacted: 121, want: undefined, why: 'nothing happened' },
  ];
  for (const { at, revision, compacted, want, why } of looks) {
    const revisionBefore = (commits: number): number => Math.max(compacted, revision - commits);
    assert.equal(schedule.next(at, { revision, compacted, revisionBefore }), want, `at ${at}: ${why}`);
  }
});

test('limits the history, survives errors and ends with its signal', async () => {
  await using store = openMemoryStore();
  const stop = new AbortController();
  const errors: unknown[] = [];
  let now = 0;
  let isBroken = true;
  const seen: number[] = [];
  await runCompactor({
    store: {
      get revision() {
        return store.revision;
      },
      get compacted() {
        return store.compacted;
      },
      revisionBefore: (commits) => store.revisionBefore(commits),
      compact: (revision) => (isBroken ? Promise.reject(new Error('full')) : store.compact(revision)),
    },
    signal: stop.signal,
    keepMs: 5000,
    maxRevisions: 30,
    onError: (error) => errors.push(error),
    clock: {
      now: () => now,
      sleep: async (ms, signal) => {
        now += ms;
        if (now >= 7000) isBroken = false;
        for (let i = 0; i < 10; i++) await store.commit([{ key: 'a', value: String(i) }]);
        seen.push(store.revision - store.compacted);
        if (now >= 20_000) stop.abort();
        signal.throwIfAborted();
      },
    },
  });
  assert.equal(errors.length, 3); // at 4, 5 and 6 seconds
  assert.ok(Math.max(...seen.slice(7)) <= 44, `kept ${seen.join(' ')}`);
  assert.equal(seen.length, 20);
});
