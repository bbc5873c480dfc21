// Writes to the store in a folder with several concurrent writers until it is killed. Prints `key value revision` after
// each acknowledged commit, which has two keys.

import { openSqliteStore } from '../sqlite.ts';

// Buffers unread output: a failed write to standard output would end the process.
const print = (line: string): boolean => process.stdout.write(`${line}\n`);

async function main(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  const write = async (key: string): Promise<void> => {
    for (let value = Number((await store.get(`one/${key}`))?.value ?? 0) + 1; ; value++) {
      const writes = ['one', 'other'].map((half) => ({ key: `${half}/${key}`, value: String(value) }));
      const { revision } = await store.commit(writes);
      print(`${key} ${value} ${revision}`);
      if (value % 100 === 0) await store.compact(Math.max(store.compacted, revision - 50));
    }
  };
  await Promise.all(Array.from({ length: 8 }, (unused, i) => write(`w${i}`)));
}

main(process.argv[2] ?? '').catch((error: Error & { code?: string }) => {
  print(`${error.code} ${error.message}`);
  process.exitCode = 1;
});
