import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { run } from '../run.ts';

describe('fairlead mcs', () => {
  let directory = '';
  before(async () => (directory = await mkdtemp(join(tmpdir(), 'fairlead-mcs-'))));
  after(() => rm(directory, { recursive: true, force: true }));

  const fairlead = async (...args: readonly string[]): Promise<{ readonly code: number; readonly err: string }> => {
    const printed: string[] = [];
    const code = await run(args, { out: () => undefined, err: (text) => void printed.push(text) });
    return { code, err: printed.join('') };
  };

  test('where nothing was started, says how to name clusters of your own', async () => {
    const { code, err } = await fairlead('mcs', 'status', '--data-dir', directory);
    assert.equal(code, 1);
    assert.match(err, /has no certificates: .*; for clusters of your own pass --members FILE\n$/);
  });

  test('a cluster that is no member is a mistake of who asks', async () => {
    const members = join(directory, 'members.yaml');
    await writeFile(members, 'members: [{ id: east, kubeconfig: none, context: east }]');
    const { code, err } = await fairlead('mcs', 'why', 'shop/web', '--from', 'eest', '--members', members);
    assert.deepEqual({ code, err }, { code: 2, err: 'fairlead: there is no cluster "eest" in the set: it has east\n' });
  });
});
