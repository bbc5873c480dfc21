import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pino } from 'pino';

import { aesgcm, configurationOf, keyOf } from '../../server/encryption/testing/configuration.ts';
import { until } from '../../server/testing/until.ts';
import { temporaryDirectory } from '../../../test/harness/fairlead.ts';
import { followEncryption, openEncryption, readEncryption } from './encryption.ts';

const log = pino({ level: 'silent' });
const file = 'encryption-provider-config';
const reload = 'encryption-provider-config-automatic-reload';

suite('--encryption-provider-config', () => {
  test('is off by default, and accepts a path', () => {
    assert.equal(readEncryption(new Map()), undefined);
    assert.deepEqual(readEncryption(new Map([[file, ['a']]])), { path: 'a', reloads: false });
    const both = new Map([
      [file, ['a']],
      [reload, ['true']],
    ]);
    assert.deepEqual(readEncryption(both), { path: 'a', reloads: true });
  });

  test('rejects an empty path, and reload without a file', () => {
    assert.throws(() => readEncryption(new Map([[file, ['']]])), /expected a path/);
    assert.throws(() => readEncryption(new Map([[reload, ['true']]])), /needs --encryption-provider-config$/);
  });

  test('rejects a missing or invalid file with an error that names it', async () => {
    await using folder = await temporaryDirectory();
    const path = join(folder.path, 'keys.yaml');
    await using stack = new AsyncDisposableStack();
    const open = (): Promise<unknown> => openEncryption({ path, reloads: false }, log, stack);
    await assert.rejects(open, {
      code: 'USAGE',
      message: /^--encryption-provider-config .*keys\.yaml: no such file or directory$/,
    });
    await writeFile(path, configurationOf([{ kms: {} }]));
    await assert.rejects(open, /keys\.yaml: resources\[0\]\.providers\[0\]\.kms: .*KMS providers are not supported/);
  });

  test('is reloaded when the file changes; while it is missing or invalid, the last configuration applies', async () => {
    await using folder = await temporaryDirectory();
    const path = join(folder.path, 'keys.yaml');
    const texts = ['1', '2', '3'].map((name) => configurationOf([aesgcm(keyOf(name, 1))]));
    const [first = '', second = '', third = ''] = texts;
    await writeFile(path, first);
    const seen: string[] = [];
    const logged: string[] = [];
    const record = (_: unknown, text: string): void => void logged.push(text);
    await using _following = followEncryption({
      path,
      text: first,
      encryption: {
        async reload(text) {
          seen.push(text);
          if (text === second) throw new Error('wrong');
        },
      },
      log: { info: record, error: record } as unknown as typeof log, // a logger as far as it is used
      everyMs: 1,
    });
    await writeFile(path, second);
    await until('the change is read', () => seen.length === 1);
    await rm(path);
    await writeFile(path, third);
    await until('the next one is read', () => seen.includes(third));
    assert.deepEqual(seen, [second, third]);
    assert.deepEqual(logged, [
      'encryption configuration not reloaded, the previous one stays in use',
      'encryption configuration reloaded',
    ]);
  });
});
