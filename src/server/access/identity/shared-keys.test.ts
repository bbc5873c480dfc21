import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

import { openMemoryStore } from '../../../store/memory/memory.ts';
import type { Store } from '../../../store/store.ts';
import { addKey, openKeyDirectory } from './key-directory.ts';
import { openSharedKeys } from './shared-keys.ts';
import type { TokenKeys } from './token-keys.ts';

const day = 24 * 60 * 60_000;

/** Servers with a directory each, over one store. */
class Servers implements AsyncDisposable {
  readonly folder: string;
  readonly store: Store = openMemoryStore();
  now = Date.now();
  readonly #opened: TokenKeys[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Servers> {
    return new Servers(await mkdtemp(join(tmpdir(), 'fairlead-shared-keys-')));
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  async open(name: string): Promise<TokenKeys> {
    const shared = { path: this.path(name), clock: () => this.now, warn: () => assert.fail('a warning') };
    const own = await openKeyDirectory(shared);
    const keys = await openSharedKeys({ ...shared, own, store: this.store });
    this.#opened.push(keys);
    return keys;
  }

  async removeKeys(name: string): Promise<void> {
    for (const file of await readdir(this.path(name))) if (file.endsWith('.key')) await rm(join(this.path(name), file));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const keys of this.#opened) keys[Symbol.dispose]();
    await this.store.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}

test('servers with directories of their own verify the tokens of each other', async () => {
  await using servers = await Servers.make();
  const [a, b] = [await servers.open('a'), await servers.open('b')];
  const [ofA, ofB] = [await a.signing(), await b.signing()];
  assert.notEqual(ofA.kid, ofB.kid);
  for (const keys of [a, b]) {
    await keys.refresh(ofA.kid);
    await keys.refresh(ofB.kid);
    assert.deepEqual(new Set(keys.all().map(({ kid }) => kid)), new Set([ofA.kid, ofB.kid]));
    assert.ok(keys.get(ofA.kid)?.publicKey.equals(ofA.publicKey));
  }
  const { entries } = await servers.store.range('/registry/');
  for (const { value } of entries) assert.doesNotMatch(value, /PRIVATE/);
});

test('a new signing key of one server verifies on the others before it signs', async () => {
  await using servers = await Servers.make();
  const [a, b] = [await servers.open('a'), await servers.open('b')];
  servers.now += 100 * day;
  const { kid } = await a.signing();
  await b.refresh(kid);
  assert.equal(b.get(kid)?.kid, kid);
});

test('a key whose file is removed is revoked on all servers, also while its server is stopped', async () => {
  await using servers = await Servers.make();
  const [a, b] = [await servers.open('a'), await servers.open('b')];
  const [first, other] = [await a.signing(), await b.signing()];
  const second = await addKey(servers.path('a'), servers.now + 2000);
  await a.refresh();
  await servers.removeKeys('a');
  await a.refresh();
  assert.deepEqual([a.get(first.kid), b.get(first.kid), b.get(second.kid)], [undefined, undefined, undefined]);
  const third = await a.signing();
  a[Symbol.dispose]();
  await servers.removeKeys('a');
  const again = await servers.open('a');
  assert.equal(b.get(third.kid), undefined);
  assert.ok(again.get(other.kid));
  assert.ok(b.get((await again.signing()).kid));
});

test('the keys of a server that is gone expire with their last tokens', async () => {
  await using servers = await Servers.make();
  const { kid } = await (await servers.open('gone')).signing();
  const b = await servers.open('b');
  assert.ok(b.get(kid));
  servers.now += 500 * day;
  assert.equal(b.get(kid), undefined);
  await b.refresh();
  assert.equal(await servers.store.get(`/registry/tokenkeys/${kid}`), undefined);
});

test('ignores a record that is not the public key of its name', async () => {
  await using servers = await Servers.make();
  const a = await servers.open('a');
  const { kid } = await a.signing();
  const value = (await servers.store.get(`/registry/tokenkeys/${kid}`))?.value ?? '';
  await servers.store.commit([
    { key: '/registry/tokenkeys/other', value },
    { key: '/registry/tokenkeys/text', value: 'no JSON' },
  ]);
  await a.refresh('other');
  assert.deepEqual([a.get('other'), a.get('text')], [undefined, undefined]);
});
