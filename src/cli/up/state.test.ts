import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../../server/testing/until.ts';
import { holdDataDirectory } from './data-directory.ts';
import { publishState } from './state.ts';
import type { State } from './state.ts';

test('state.json contains current problems of parts, and is removed at the end', async () => {
  const path = await mkdtemp(join(tmpdir(), 'fairlead-state-'));
  try {
    await using directory = await holdDataDirectory(path);
    let problems: readonly string[] = [];
    const state = (): State => ({
      clusters: [{ name: 'east', server: '', zones: [], serviceCIDRs: [], parts: [{ name: 'dns', problems }] }],
      pid: 1,
    });
    const file = join(path, 'state.json');
    const reported = (): readonly string[] | undefined =>
      (JSON.parse(readFileSync(file, 'utf8')) as State).clusters[0]?.parts[0]?.problems;
    {
      await using _ = await publishState(directory, state, 5);
      assert.deepEqual(reported(), []);
      problems = ['the component failed and is restarted: bug'];
      await until('the problem', () => reported()?.length === 1);
      problems = [];
      await until('the end of it', () => reported()?.length === 0);
    }
    assert.ok(!existsSync(file));
  } finally {
    await rm(path, { recursive: true });
  }
});
