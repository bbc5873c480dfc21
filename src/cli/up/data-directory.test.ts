import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { holdDataDirectory } from './data-directory.ts';

describe('data directory', () => {
  let parent = '';
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), 'fairlead-data-'));
  });
  after(() => rm(parent, { recursive: true, force: true }));

  test('can be locked by one process at a time, and again afterwards', async () => {
    const path = join(parent, 'a', 'b');
    {
      await using directory = await holdDataDirectory(path);
      await directory.write('state.json', '{"pid": 4711}');
      await assert.rejects(holdDataDirectory(path), {
        message: `data directory ${path} is in use by process 4711: stop it or pass --data-dir`,
        code: 'FATAL',
      });
    }
    await using again = await holdDataDirectory(path);
    assert.equal(again.path, path);
  });

  test('is readable by its owner only', async () => {
    await using directory = await holdDataDirectory(join(parent, 'private'));
    await directory.write('secret', 'x');
    assert.equal((await stat(directory.path)).mode & 0o777, 0o700);
    for (const name of ['lock', 'secret']) assert.equal((await stat(directory.at(name))).mode & 0o777, 0o600);
    assert.equal(await readFile(directory.at('secret'), 'utf8'), 'x');
    await directory.remove('secret');
    await directory.remove('secret'); // gone already: not an error
  });

  test('a path that cannot be a directory is an error with its name', async () => {
    await using directory = await holdDataDirectory(join(parent, 'file'));
    await assert.rejects(holdDataDirectory(directory.at('lock')), {
      message: /^cannot use data directory .*lock: it is not a directory$/,
    });
  });

  test(
    'a location without write access is an error, not a hang',
    { skip: process.platform !== 'linux' && 'no /proc here' },
    () =>
      assert.rejects(holdDataDirectory('/proc/fairlead/data'), {
        message: 'cannot use data directory /proc/fairlead/data: no such file or directory',
        code: 'FATAL',
      }),
  );

  test('its removal is detected', async () => {
    await using directory = await holdDataDirectory(join(parent, 'lost'), { checkMs: 5 });
    await rm(directory.path, { recursive: true });
    await new Promise((resolve) => {
      if (directory.lost.aborted) resolve(undefined);
      directory.lost.addEventListener('abort', resolve);
    });
  });
});
