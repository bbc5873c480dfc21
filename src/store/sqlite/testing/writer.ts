// Writes to the store in the folder it is given, from several writers at once, and says `key value revision` after each
// acknowledged commit, which has two keys. It runs until it is killed.

import { openSqliteStore } from '../sqlite.ts';

// What is not read yet is kept: a write that fails because nobody reads fast enough would end the writer.
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

async function main(path: string): Promise<void> {
  const store = await openSqliteStore({ path });
  const write = async (key: string): Promise<void> => {
    for (let value = Number((await store.get(`one/${key}`))?.value ?? 0) + 1; ; value++) {
      const writes = ['one', 'other'].map((half) => ({ key: `${half}/${key}`, value: String(value) }));
      const { revision } = await store.commit(writes);
      say(`${key} ${value} ${revision}`);
      if (value % 100 === 0) await store.compact(Math.max(store.compacted, revision - 50));
    }
  };
  await Promise.all(Array.from({ length: 8 }, (unused, i) => write(`w${i}`)));
}

main(process.argv[2] ?? '').catch((error: Error & { code?: string }) => {
  say(`${error.code} ${error.message}`);
  process.exitCode = 1;
});
