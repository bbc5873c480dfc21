// Writes to a store until its standard input ends, one commit after the other. Prints a line per commit, `ok REVISION
// NUMBER` or `failed NUMBER MESSAGE`, and at the end the revisions that a watch has received.

import { setTimeout as delay } from 'node:timers/promises';

import type { Change } from '../../store.ts';
import { openSqliteStore } from '../sqlite.ts';

let isEnded = false;
process.stdin.on('end', () => (isEnded = true)).resume();

await using store = await openSqliteStore({ path: process.argv[2] ?? '' });
const seen: number[] = [];
const onChanges = (changes: readonly Change[]): void => void seen.push(...changes.map(({ revision }) => revision));
const onEnd = (): void => {
  if (!isEnded) console.log('the watch has ended');
};
await store.watch('', store.revision, { onChanges, onEnd }, new AbortController().signal);
for (let number = 0; !isEnded; number++) {
  const value = `${number} ${'x'.repeat(3000)}`;
  await store
    .commit([{ key: `k${number}`, value }])
    .then(({ revision }) => console.log(`ok ${revision} ${number}`))
    .catch((error: Error) => console.log(`failed ${number} ${error.message}`));
  const { failure } = store.status();
  if (failure !== undefined) console.log(`status ${failure.isFatal} ${failure.message}`);
  const { entries } = await store.range('');
  if (entries.length !== seen.length) console.log('reads and the watch differ');
  await delay(failure === undefined ? 1 : 20);
}
console.log(`seen ${seen.join(',')}`);
