import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubeconfig } from '../up/kubeconfig.ts';
import { findCluster, partCluster, readClusterAccess } from './cluster-access.ts';

describe('selection of the cluster', () => {
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
    return (await readClusterAccess(partCluster(settings, env), env)).server;
  };

  test('reads the context of --context in the file of --kubeconfig', async () => {
    assert.equal(await read({ kubeconfig: file }), 'https://east.example.org');
    assert.equal(await read({ kubeconfig: file, context: 'west' }), 'https://west.example.org');
  });

  test('prefers KUBECONFIG to the service account of a Pod', async () => {
    assert.equal(await read({ context: 'west' }, { KUBECONFIG: file }), 'https://west.example.org');
    const pod = { KUBERNETES_SERVICE_HOST: '10.0.0.1', KUBERNETES_SERVICE_PORT: '443' };
    assert.equal(await read({}, { ...pod, KUBECONFIG: file }), 'https://east.example.org');
  });

  test('names the flag to pass when something is missing', async () => {
    const nowhere = join(folder, 'nowhere');
    const failing: readonly (readonly [Record<string, string>, Record<string, string>, string])[] = [
      [{ kubeconfig: nowhere }, {}, `there is no kubeconfig at ${nowhere}: pass --kubeconfig FILE`],
      [{}, { KUBECONFIG: nowhere }, `there is no kubeconfig at ${nowhere}: pass --kubeconfig FILE`],
      [
        { kubeconfig: file, context: 'north' },
        {},
        'there is no context "north" (known: east, west): pass --context NAME',
      ],
      [{ kubeconfig: '' }, {}, 'invalid argument "" for "--kubeconfig" flag: expected a path'],
    ];
    for (const [given, env, message] of failing) await assert.rejects(read(given, env), { message, code: 'USAGE' });
  });

  test('an action uses the cluster of the flag, of KUBECONFIG, of a running up, or of the home directory', async () => {
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    const find = async (given: Readonly<Record<string, string>>, env = {}): Promise<string> => {
      const settings = new Map(Object.entries(given).map(([name, value]) => [name, [value]]));
      return (await findCluster(settings, env, dataDir)).source;
    };
    assert.match(await find({}), /\.kube.config$/);
    await writeFile(join(dataDir, 'state.json'), `{"pid":${process.pid}}`);
    assert.equal(await find({}), `the running \`fairlead up\` (${join(dataDir, 'kubeconfig')})`);
    assert.equal(await find({}, { KUBECONFIG: file }), '$KUBECONFIG');
    assert.equal(await find({ kubeconfig: 'other' }, { KUBECONFIG: file }), 'other');
  });
});
