import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfigFile } from '../config-file.ts';
import type { Settings } from '../settings.ts';
import { followSettings } from './followed-settings.ts';

const flags = [{ name: 'ttl', value: 'SECONDS', description: '' }];

async function follow(): Promise<
  {
    readonly file: string;
    readonly told: (string | undefined)[];
    readonly logged: () => string;
    /** Resolves when something was logged that matches. */
    readonly logs: (pattern: RegExp) => Promise<void>;
  } & AsyncDisposable
> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-settings-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, 'ttl: 1\n');
  const stream = new PassThrough({ encoding: 'utf8' });
  let logged = '';
  stream.on('data', (text: string) => (logged += text));
  const told: (string | undefined)[] = [];
  const read = (): Promise<Settings> => readConfigFile(file, flags);
  const followed = followSettings({ path: file, read, log: pino(stream), everyMs: 5 });
  followed.changes((settings) => {
    const ttl = settings.get('ttl')?.[0];
    if (ttl === '13') throw new Error('13 is refused');
    told.push(ttl);
  });
  await delay(100); // what is there at the beginning has been seen
  return {
    file,
    told,
    logged: () => logged,
    async logs(pattern) {
      while (!pattern.test(logged)) await once(stream, 'data');
    },
    async [Symbol.asyncDispose]() {
      followed[Symbol.dispose]();
      await rm(folder, { recursive: true });
    },
  };
}

test('other settings are told, and only those', async () => {
  await using followed = await follow();
  await delay(30);
  assert.deepEqual(followed.told, []);
  await writeFile(followed.file, 'ttl: 2\n');
  await followed.logs(/the configuration has changed/);
  assert.deepEqual(followed.told, ['2']);
});

test('a file with an error changes nothing, and the next good one does', async () => {
  await using followed = await follow();
  await writeFile(followed.file, 'tll: 2\n');
  await followed.logs(/the configuration stays as it was: .*unknown key \\"tll\\"/);
  await writeFile(followed.file, 'ttl: [\n');
  await followed.logs(/the configuration stays as it was: .*config\.yaml:\d/);
  await writeFile(followed.file, 'ttl: 13\n');
  await followed.logs(/the configuration stays as it was: 13 is refused/);
  assert.deepEqual(followed.told, []);
  await writeFile(followed.file, 'ttl: 3\n');
  await followed.logs(/the configuration has changed/);
  assert.deepEqual(followed.told, ['3']);
});

test('a file that is written in pieces counts when it is whole', async () => {
  await using followed = await follow();
  await writeFile(followed.file, '');
  await delay(20);
  await writeFile(followed.file, 'ttl: 13\n');
  await delay(20);
  await writeFile(followed.file, 'ttl: 5\n');
  await followed.logs(/the configuration has changed/);
  assert.deepEqual(followed.told, ['5']);
});

test('a file that is away is being replaced, as a mounted ConfigMap is', async () => {
  await using followed = await follow();
  await rename(followed.file, `${followed.file}.old`);
  await delay(30);
  assert.equal(followed.logged(), '');
  await writeFile(followed.file, 'ttl: 4\n');
  await followed.logs(/the configuration has changed/);
  assert.deepEqual(followed.told, ['4']);
});

test('without a file nothing ever changes', () => {
  using followed = followSettings({
    path: undefined,
    read: () => assert.fail('not read'),
    log: pino({ level: 'silent' }),
  });
  followed.changes(() => assert.fail('not told'));
});
