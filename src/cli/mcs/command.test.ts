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

  test('without a running up, explains how to select clusters', async () => {
    const { code, err } = await fairlead('mcs', 'status', '--data-dir', directory);
    assert.equal(code, 2);
    assert.match(err, /^fairlead: there is no kubeconfig at .*: pass --kubeconfig FILE or --members FILE, or start /);
  });

  test('reads every cluster of a kubeconfig once, and names the kubeconfig', async () => {
    const file = join(directory, 'kubeconfig');
    const clusters = ['east', 'west'].map((name) => ({ name, cluster: { server: 'https://127.0.0.1:1' } }));
    const contexts = ['east', 'west', 'west-as-me'].map((name) => ({
      name,
      context: { cluster: name.slice(0, 4), user: 'me' },
    }));
    const users = [{ name: 'me', user: { token: 'secret' } }];
    await writeFile(file, JSON.stringify({ clusters, contexts, users, 'current-context': 'west-as-me' }));
    const { code, err } = await fairlead('mcs', 'list', '--kubeconfig', file);
    assert.deepEqual({ code, err }, { code: 3, err: `using the contexts east, west-as-me of ${file}\n` });
  });

  test('rejects a cluster that is not a member', async () => {
    const members = join(directory, 'members.yaml');
    await writeFile(members, 'members: [{ id: east, kubeconfig: none, context: east }]');
    const { code, err } = await fairlead('mcs', 'why', 'shop/web', '--from', 'eest', '--members', members);
    assert.deepEqual({ code, err }, { code: 2, err: 'fairlead: there is no cluster "eest" in the set: it has east\n' });
  });
});
