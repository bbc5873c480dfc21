import assert from 'node:assert/strict';
import { chmod, chown, lchown, lstat, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { root } from '../harness/process.ts';

// Another local user can create names in a shared directory before Fairlead does: nothing is read from there or
// written through them.

const isRoot = process.geteuid?.() === 0;
/** Any user except the one that runs the tests. */
const stranger = 54_321;

/** Runs `fairlead version` with a temporary home directory. */
async function version(home: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
  const own = { HOME: home, XDG_CACHE_HOME: '', NODE_COMPILE_CACHE: '', ...env };
  const { code, err } = await run(process.execPath, [join(root, 'bin', 'fairlead.js'), 'version'], { env: own });
  assert.equal(code, 0, err);
}

const entries = (path: string): Promise<string[]> => readdir(path).catch(() => []);

test('keeps the compile cache in a directory of the user', async () => {
  await using home = await temporaryDirectory();
  await version(home.path);
  assert.equal((await entries(join(home.path, '.cache', 'fairlead'))).length, 1);
  const configured = join(home.path, 'configured');
  await version(home.path, { XDG_CACHE_HOME: configured });
  assert.equal((await entries(join(configured, 'fairlead'))).length, 1);
});

test('ignores a relative XDG_CACHE_HOME and does not create a missing home', async () => {
  await using home = await temporaryDirectory();
  await version(home.path, { XDG_CACHE_HOME: 'fairlead-relative' });
  assert.equal((await entries(join(home.path, '.cache', 'fairlead'))).length, 1);
  assert.deepEqual(await entries(join(root, 'fairlead-relative')), []);
  await version(join(home.path, 'missing', 'home'));
  assert.deepEqual(await entries(home.path), ['.cache']);
});

test('leaves a directory of NODE_COMPILE_CACHE to Node', async () => {
  await using home = await temporaryDirectory();
  await version(home.path, { NODE_COMPILE_CACHE: join(home.path, 'chosen') });
  assert.deepEqual(await entries(home.path), ['chosen']);
});

/** Ways in which another user could write to the cache, each called with its path. */
const plantings: readonly (readonly [string, (cache: string) => Promise<void>, needsRoot?: true])[] = [
  ['is a symbolic link', async (cache) => symlink(await made(`${cache}-elsewhere`), cache)],
  ['is a file', (cache) => writeFile(cache, '')],
  ['is writable by the group', async (cache) => chmod(await made(cache), 0o770)],
  ['is writable by everybody', async (cache) => chmod(await made(cache), 0o1777)],
  ['belongs to another user', async (cache) => chown(await made(cache), stranger, stranger), true],
  ['lies in a directory that everybody can write to', async (cache) => chmod(join(await made(cache), '..'), 0o777)],
  [
    'lies in a directory of another user',
    async (cache) => chown(join(await made(cache), '..'), stranger, stranger),
    true,
  ],
];

async function made(path: string): Promise<string> {
  await mkdir(path, { mode: 0o700 });
  return path;
}

for (const [how, plant, needsRoot = false] of plantings) {
  const skip = needsRoot && !isRoot ? 'needs root to change owners' : false;
  test(`starts without a compile cache when the directory ${how}`, { skip }, async () => {
    await using home = await temporaryDirectory();
    const cache = join(await made(join(home.path, '.cache')), 'fairlead');
    await plant(cache);
    await version(home.path);
    assert.deepEqual([...(await entries(cache)), ...(await entries(`${cache}-elsewhere`))], []);
  });
}

test('opens nothing in the shared temporary directory', async () => {
  await using shared = await temporaryDirectory();
  await using data = await temporaryDirectory();
  const planted = ['node-compile-cache', 'fairlead', '.fairlead', 'koffi', 'lock', 'store.db', 'kubeconfig'];
  const elsewhere = await made(join(shared.path, 'elsewhere'));
  for (const name of planted) await symlink(elsewhere, join(shared.path, name));
  await using fairlead = await startFairlead(join(data.path, 'new'), ['up', '--demo'], {
    env: { TMPDIR: shared.path, TMP: shared.path, TEMP: shared.path, NODE_COMPILE_CACHE: '' },
  });
  await fairlead.stop();
  assert.deepEqual((await readdir(shared.path)).toSorted(), [...planted, 'elsewhere'].toSorted());
  assert.deepEqual(await readdir(elsewhere), []);
});

test(
  'rejects a data directory that another user has created in a shared directory',
  { skip: isRoot ? false : 'needs root to change owners' },
  async () => {
    await using shared = await temporaryDirectory();
    await chmod(shared.path, 0o1777);
    const planted = await made(join(shared.path, 'planted'));
    await chown(planted, stranger, stranger);
    for (const path of [planted, join(planted, 'inside')]) {
      const starting = startFairlead(path, ['up']);
      await assert.rejects(starting, new RegExp(`${planted} belongs to user ${stranger}.*choose another directory`));
    }
  },
);

test('creates every file for its owner only, whatever the umask', async () => {
  await using data = await temporaryDirectory();
  const directory = join(data.path, 'new');
  const before = process.umask(0);
  await using fairlead = await startFairlead(directory, [
    'up',
    `--audit-log-path=${join(directory, 'audit', 'log')}`,
  ]).finally(() => process.umask(before));
  const found = await readdir(directory, { recursive: true });
  assert.ok(
    found.some((name) => name.startsWith(join('audit', 'log'))) && found.includes('kubeconfig'),
    found.join(' '),
  );
  for (const name of ['.', ...found]) {
    const found = await lstat(join(directory, name)).catch(() => undefined); // it may have been renamed meanwhile
    const mode = found?.mode ?? 0;
    // Processes of other users must pass through the directories of the agent to reach their volumes.
    const allowed = name.startsWith('agent') && found?.isDirectory() === true ? 0o011 : 0;
    assert.equal(mode & 0o077 & ~allowed, 0, `${name} has mode ${(mode & 0o777).toString(8)}`);
  }
  await fairlead.stop();
});

test(
  'writes no audit log through a link that another user has created in a shared directory',
  { skip: isRoot ? false : 'needs root to change owners' },
  async () => {
    await using shared = await temporaryDirectory();
    await using data = await temporaryDirectory();
    await chmod(shared.path, 0o1777);
    const [target, link] = [join(data.path, 'target'), join(shared.path, 'audit.log')];
    await writeFile(target, 'kept');
    await symlink(target, link);
    await lchown(link, stranger, stranger);
    // The kernel may reject it first, if fs.protected_symlinks is set.
    const starting = startFairlead(join(data.path, 'data'), ['up', '--audit-log-path', link, '--cluster', 'east']);
    await assert.rejects(starting, /audit\.log belongs to user 54321|permission denied/);
    assert.equal(await readFile(target, 'utf8'), 'kept');
  },
);
