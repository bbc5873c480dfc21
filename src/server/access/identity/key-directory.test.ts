import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { addKey, listKeys, openKeyDirectory } from './key-directory.ts';
import type { TokenKeys } from './token-keys.ts';

const day = 24 * 60 * 60_000;

class Directory implements AsyncDisposable {
  readonly path: string;
  readonly messages: string[] = [];
  now = Date.now();

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<Directory> {
    return new Directory(join(await mkdtemp(join(tmpdir(), 'fairlead-keys-')), 'keys'));
  }

  open(): Promise<TokenKeys> {
    return openKeyDirectory({
      path: this.path,
      clock: () => this.now,
      warn: ({ file }, message) => void this.messages.push(`${file}: ${message}`),
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return rm(join(this.path, '..'), { recursive: true, force: true });
  }
}

const kids = (keys: TokenKeys): string[] => keys.all().map(({ kid }) => kid);

test('creates a key with private file modes at the first start and uses it at the next', async () => {
  await using directory = await Directory.make();
  const { kid } = await (await directory.open()).signing();
  const [file = '', ...others] = await readdir(directory.path);
  assert.deepEqual(others, []);
  assert.match(file, /^\d{8}T\d{6}Z-.{43}\.key$/);
  assert.ok(file.includes(kid));
  assert.equal((await stat(join(directory.path, file))).mode & 0o777, 0o600);
  assert.equal((await stat(directory.path)).mode & 0o777, 0o700);
  assert.equal((await (await directory.open()).signing()).kid, kid);
});

test('servers over one directory share all keys', async () => {
  await using directory = await Directory.make();
  const [east, west] = [await directory.open(), await directory.open()];
  directory.now += 2000;
  const added = await addKey(directory.path, directory.now);
  assert.equal(east.get(added.kid), undefined); // until the next refresh
  await east.refresh();
  assert.equal(east.get(added.kid)?.kid, added.kid);
  assert.equal((await west.signing()).kid, added.kid);
  assert.equal((await east.signing()).kid, added.kid);
  assert.equal(kids(east).length, 2);
});

test('concurrent refreshes all load the newest key', async () => {
  await using directory = await Directory.make();
  const keys = await directory.open();
  const waiting = Array.from({ length: 20 }, () => keys.refresh());
  const added = await addKey(directory.path, directory.now + 2000);
  await Promise.all([...waiting, keys.refresh()]);
  await keys.refresh();
  assert.equal(kids(keys)[0], added.kid);
});

test('a removed key no longer verifies', async () => {
  await using directory = await Directory.make();
  const keys = await directory.open();
  const { kid } = await keys.signing();
  for (const file of await readdir(directory.path)) await rm(join(directory.path, file));
  await keys.refresh();
  assert.equal(keys.get(kid), undefined);
  assert.notEqual((await keys.signing()).kid, kid); // a new key is created
});

test('a removed directory has no keys and gets a new one', async () => {
  await using directory = await Directory.make();
  const keys = await directory.open();
  await rm(directory.path, { recursive: true });
  await keys.refresh();
  assert.deepEqual(kids(keys), []);
  assert.equal((await keys.signing()).kid.length, 43);
});

test('reports damaged key files and ignores other files', async () => {
  await using directory = await Directory.make();
  const keys = await directory.open();
  const { kid } = await keys.signing();
  await writeFile(join(directory.path, 'README'), 'a note');
  await writeFile(join(directory.path, '20260101T000000Z-broken.key'), 'damaged');
  await keys.refresh();
  assert.deepEqual(kids(keys), [kid]);
  assert.match(
    directory.messages[0] ?? '',
    /20260101T000000Z-broken\.key: not a private key for ES256: remove the file$/,
  );
  assert.deepEqual((await listKeys(directory.path)).damaged, ['20260101T000000Z-broken.key']);
});

test('a key signs for 90 days and verifies for the maximum lifetime of a token', async () => {
  await using directory = await Directory.make();
  const keys = await directory.open();
  const first = await keys.signing();
  directory.now += 89 * day;
  assert.equal((await keys.signing()).kid, first.kid);
  directory.now += 2 * day;
  const second = await keys.signing();
  assert.notEqual(second.kid, first.kid);
  assert.deepEqual(kids(keys), [second.kid, first.kid]);

  directory.now += 364 * day; // a one-year token from the last day of the first key is still valid
  const third = await keys.signing();
  assert.deepEqual(kids(keys), [third.kid, second.kid, first.kid]);
  directory.now += 91 * day;
  const fourth = await keys.signing();
  assert.deepEqual(kids(keys), [fourth.kid, third.kid, second.kid]);
  assert.equal((await readdir(directory.path)).length, 3);
});
