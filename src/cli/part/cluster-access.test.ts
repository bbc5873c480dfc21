import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubeconfig } from '../up/kubeconfig.ts';
import { readClusterAccess } from './cluster-access.ts';

describe('which cluster', () => {
  let folder = '';
  let file = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'fairlead-access-'));
    file = join(folder, 'config');
    const access = { ca: 'CA', pair: { cert: 'C', key: 'K' } };
    const clusters = ['east', 'west'].map((name) => ({ name, server: `https://${name}.example.org`, ...access }));
    await writeFile(file, kubeconfig({ clusters, user: 'me' }));
  });
  after(() => rm(folder, { recursive: true }));

  const read = async (given: Readonly<Record<string, string>>, env = {}): Promise<string> => {
    const settings = new Map(Object.entries(given).map(([name, value]) => [name, [value]]));
    return (await readClusterAccess(settings, env)).server;
  };

  test('--kubeconfig and --context say', async () => {
    assert.equal(await read({ kubeconfig: file }), 'https://east.example.org');
    assert.equal(await read({ kubeconfig: file, context: 'west' }), 'https://west.example.org');
  });

  test('KUBECONFIG says, also in a Pod', async () => {
    assert.equal(await read({ context: 'west' }, { KUBECONFIG: file }), 'https://west.example.org');
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    assert.equal(await read({}, { ...pod, KUBECONFIG: file }), 'https://east.example.org');
  });

  test('what is missing is said, with the flag that helps', async () => {
    const nowhere = join(folder, 'nowhere');
    const failing: readonly (readonly [Record<string, string>, Record<string, string>, string])[] = [
      [{ kubeconfig: nowhere }, {}, `there is no kubeconfig at ${nowhere}`],
      [{}, { KUBECONFIG: nowhere }, `there is no kubeconfig at ${nowhere}: pass --kubeconfig FILE`],
      [{ kubeconfig: file, context: 'north' }, {}, 'there is no context "north"; there is west, east'],
      [{ kubeconfig: '' }, {}, 'invalid argument "" for "--kubeconfig" flag: expected a path'],
    ];
    for (const [given, env, message] of failing) await assert.rejects(read(given, env), { message, code: 'USAGE' });
  });
});
