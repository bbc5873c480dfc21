import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { readConfigFile } from '../options/config-file.ts';
import type { Settings } from '../options/flags.ts';
import { settleMs } from '../process/stable-file.ts';
import { followConfigFile } from './config-reloader.ts';

const flags = [{ name: 'ttl', value: 'SECONDS', description: '' }];

/** Replaces a file atomically. */
async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}

async function follow(found = 'ttl: 1\n'): Promise<
  {
    readonly file: string;
    readonly told: (string | undefined)[];
    readonly logged: () => string;
    /** Resolves when a matching line was logged. */
    readonly logs: (pattern: RegExp) => Promise<void>;
  } & AsyncDisposable
> {
  const folder = await mkdtemp(join(tmpdir(), 'fairlead-settings-'));
  const file = join(folder, 'config.yaml');
  await writeFile(file, found);
  const stream = new PassThrough({ encoding: 'utf8' });
  let logged = '';
  stream.on('data', (text: string) => (logged += text));
  const told: (string | undefined)[] = [];
  const read = (text: string): Promise<Settings> => readConfigFile(file, flags, { text });
  const first: Settings = new Map([['ttl', ['1']]]);
  const followed = followConfigFile({ path: file, first, read, log: pino(stream), everyMs: 5 });
  followed.changes((settings) => {
    const ttl = settings.get('ttl')?.[0];
    if (ttl === '13') throw new Error('13 is refused');
    told.push(ttl);
  });
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

test('reports changed settings only', async () => {
  await using followed = await follow();
  await delay(2 * settleMs); // nothing must happen
  assert.deepEqual(followed.told, []);
  await replace(followed.file, 'ttl: 2\n');
  await followed.logs(/configuration reloaded/);
  assert.deepEqual(followed.told, ['2']);
});

test('reports a change during the start of the part', async () => {
  await using followed = await follow('ttl: 2\n');
  await followed.logs(/configuration reloaded/);
  assert.deepEqual(followed.told, ['2']);
});

test('a file with an error changes nothing, and the next valid one applies', async () => {
  await using followed = await follow();
  await replace(followed.file, 'tll: 2\n');
  await followed.logs(/"reason":".*.*unknown key \\"tll\\"/);
  await replace(followed.file, 'ttl: [\n');
  await followed.logs(/"reason":".*.*config\.yaml:\d/);
  await replace(followed.file, 'ttl: 13\n');
  await followed.logs(/"reason":".*13 is refused/);
  assert.deepEqual(followed.told, []);
  await replace(followed.file, 'ttl: 3\n');
  await followed.logs(/configuration reloaded/);
  assert.deepEqual(followed.told, ['3']);
});

test('treats a missing file as one that is being replaced, like a mounted ConfigMap', async () => {
  await using followed = await follow();
  await rename(followed.file, `${followed.file}.old`);
  await delay(2 * settleMs); // nothing must happen
  assert.equal(followed.logged(), '');
  await replace(followed.file, 'ttl: 4\n');
  await followed.logs(/configuration reloaded/);
  assert.deepEqual(followed.told, ['4']);
});

test('reports no changes without a file', () => {
  using followed = followConfigFile({
    path: undefined,
    first: new Map(),
    read: () => assert.fail('not read'),
    log: pino({ level: 'silent' }),
  });
  followed.changes(() => assert.fail('not told'));
});
