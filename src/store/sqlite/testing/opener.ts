// Opens a store, prints its revision and closes it; prints an error as `code message`.

import { openSqliteStore } from '../sqlite.ts';

try {
  await using store = await openSqliteStore({ path: process.argv[2] ?? '' });
  console.log(store.revision);
} catch (error) {
  const { code, message } = error as Error & { readonly code?: string };
  console.log(`${code} ${message}`);
}
