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
    readonly applied: (string | undefined)[];
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
  const applied: (string | undefined)[] = [];
  const read = (text: string): Promise<Settings> => readConfigFile(file, flags, { text });
  const first: Settings = new Map([['ttl', ['1']]]);
  const reloader = followConfigFile({ path: file, first, read, log: pino(stream), everyMs: 5 });
  reloader.changes((settings) => {
    const ttl = settings.get('ttl')?.[0];
    if (ttl === '13') throw new Error('13 is refused');
    applied.push(ttl);
  });
  return {
    file,
    applied,
    logged: () => logged,
    async logs(pattern) {
      while (!pattern.test(logged)) await once(stream, 'data');
    },
    async [Symbol.asyncDispose]() {
      reloader[Symbol.dispose]();
      await rm(folder, { recursive: true });
    },
  };
}

test('reports changed settings only', async () => {
  await using reloader = await follow();
  await delay(2 * settleMs); // nothing must happen
  assert.deepEqual(reloader.applied, []);
  await replace(reloader.file, 'ttl: 2\n');
  await reloader.logs(/configuration reloaded/);
  assert.deepEqual(reloader.applied, ['2']);
});

test('reports a change during the start of the part', async () => {
  await using reloader = await follow('ttl: 2\n');
  await reloader.logs(/configuration reloaded/);
  assert.deepEqual(reloader.applied, ['2']);
});

test('a file with an error changes nothing, and the next valid one applies', async () => {
  await using reloader = await follow();
  await replace(reloader.file, 'tll: 2\n');
  await reloader.logs(/"reason":".*.*unknown key \\"tll\\"/);
  await replace(reloader.file, 'ttl: [\n');
  await reloader.logs(/"reason":".*.*config\.yaml:\d/);
  await replace(reloader.file, 'ttl: 13\n');
  await reloader.logs(/"reason":".*13 is refused/);
  assert.deepEqual(reloader.applied, []);
  await replace(reloader.file, 'ttl: 3\n');
  await reloader.logs(/configuration reloaded/);
  assert.deepEqual(reloader.applied, ['3']);
});

test('treats a missing file as one that is being replaced, like a mounted ConfigMap', async () => {
  await using reloader = await follow();
  await rename(reloader.file, `${reloader.file}.old`);
  await delay(2 * settleMs); // nothing must happen
  assert.equal(reloader.logged(), '');
  await replace(reloader.file, 'ttl: 4\n');
  await reloader.logs(/configuration reloaded/);
  assert.deepEqual(reloader.applied, ['4']);
});

test('reports no changes without a file', () => {
  using reloader = followConfigFile({
    path: undefined,
    first: new Map(),
    read: () => assert.fail('not read'),
    log: pino({ level: 'silent' }),
  });
  reloader.changes(() => assert.fail('not applied'));
});
