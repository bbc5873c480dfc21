import assert from 'node:assert/strict';
import type { SpawnSyncReturns } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { copyFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

import { openSqliteStore } from '../../src/store/sqlite/sqlite.ts';
import { folder } from '../../src/store/sqlite/testing/folder.ts';
import {
  checkMigrated,
  place,
  placeLarge,
  rowsOf,
  besideThis,
  valuesOf,
} from '../../src/store/sqlite/testing/format-1.ts';

/** Opens a store in a process in which the call with this number is killed or fails. */
const run = (path: string, step: number, error?: string): SpawnSyncReturns<Buffer> =>
  spawnSync(process.execPath, ['--import', besideThis('steps.ts'), besideThis('opener.ts'), path], {
    env: { ...process.env, FAIRLEAD_STEP: String(step), ...(error === undefined ? {} : { FAIRLEAD_ERROR: error }) },
  });

describe('a store of format 1', () => {
  it('opens, or fails with one line, whichever call fails, and can be migrated afterwards', async () => {
    await using directory = await folder();
    const errors = ['ENOSPC', 'EROFS', 'EIO', 'EACCES'];
    const steps = Number(/steps: (\d+)/.exec(String(run(place(directory.path), 0).stderr))?.[1]);
    for (let step = 1; step <= steps; step++) {
      await using failing = await folder();
      const file = place(failing.path);
      const { stdout, signal } = run(file, step, errors[step % errors.length]);
      assert.match(String(stdout), /^(74|STORE_DATA_DIRECTORY .*store\.db.*)\n$/, `step ${step}`);
      assert.equal(signal, null);
      await checkMigrated(file);
    }
  });

  it('can be migrated after a kill at every step', async () => {
    await using directory = await folder();
    const whole = run(place(directory.path), 0);
    const steps = Number(/steps: (\d+)/.exec(String(whole.stderr))?.[1]);
    assert.ok(steps > 20, `${String(whole.stdout)} ${String(whole.stderr)}`);
    for (let step = 1; step <= steps; step++) {
      await using killed = await folder();
      const file = place(killed.path);
      assert.equal(run(file, step).signal, 'SIGKILL', `step ${step} of ${steps}`);
      await checkMigrated(file);
      assert.deepEqual(
        readdirSync(killed.path).filter((name) => name.endsWith('.tmp')),
        [],
        `step ${step} leaves files behind`,
      );
    }
  });

  it('can be migrated after a kill at any time', async () => {
    await using directory = await folder();
    const large = placeLarge(join(directory.path, 'large.db'));
    const expected = valuesOf(rowsOf(large));
    const file = join(directory.path, 'store.db');
    copyFileSync(large, file);
    const started = performance.now();
    await (await openSqliteStore({ path: file })).close();
    const duration = performance.now() - started;
    for (let round = 0; round < 10; round++) {
      await using killed = await folder();
      const target = join(killed.path, 'store.db');
      copyFileSync(large, target);
      for (const part of [Math.random(), Math.random()]) {
        const child = spawn(process.execPath, [besideThis('opener.ts'), target], { stdio: 'ignore' });
        const timer = setTimeout(() => child.kill('SIGKILL'), 50 + part * duration);
        await new Promise((resolve) => child.on('exit', resolve));
        clearTimeout(timer);
      }
      await using store = await openSqliteStore({ path: target });
      const { entries } = await store.range('');
      assert.deepEqual(new Map(entries.map(({ key, value }) => [key, value])), expected);
      assert.deepEqual(valuesOf(rowsOf(`${target}.format-1`)), expected);
    }
  });
});
