import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { temporaryDirectory } from '../harness/fairlead.ts';
import { FairleadProcess } from '../harness/process.ts';

test('up ends with one line when its data directory is removed', async () => {
  await using parent = await temporaryDirectory();
  const path = join(parent.path, 'data');
  await using fairlead = new FairleadProcess(['up', '--cluster', 'east', '--data-dir', path, '--port-base', '0']);
  await fairlead.ready();
  await rm(path, { recursive: true, maxRetries: 10 });
  assert.equal(await fairlead.ended(), 1);
  assert.equal(
    fairlead.err,
    `fairlead: lost the lock of data directory ${path}: the directory was removed or replaced while in use\n`,
  );
});
