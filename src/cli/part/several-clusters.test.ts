import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { findCluster } from './cluster-access.ts';
import { selectClusters } from './several-clusters.ts';

const kubeconfig = {
  'current-context': 'east',
  contexts: ['east', 'west'].map((name) => ({ name, context: { cluster: name, user: '' } })),
  clusters: ['east', 'west'].map((name) => ({ name, cluster: { server: 'https://127.0.0.1:1' } })),
};

describe('clusters to show', () => {
  let directory = '';
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'fairlead-several-'));
    await writeFile(join(directory, 'kubeconfig'), JSON.stringify(kubeconfig));
  });
  after(() => rm(directory, { recursive: true }));

  const selected = async (env: Record<string, string>, flags: Record<string, readonly string[]> = {}) => {
    const settings = new Map(Object.entries(flags));
    const found = await findCluster(settings, env, join(directory, 'none'));
    return (await selectClusters(settings, found, env)).map(({ name }) => name);
  };

  test('are all of --kubeconfig, and the current one of KUBECONFIG', async () => {
    const path = join(directory, 'kubeconfig');
    assert.deepEqual(await selected({}, { kubeconfig: [path] }), ['east', 'west']);
    assert.deepEqual(await selected({ KUBECONFIG: path }), ['east']);
    assert.deepEqual(await selected({ KUBECONFIG: path }, { context: ['west'] }), ['west']);
  });

  test('are all of KUBECONFIG if `fairlead up` runs and has written it', async () => {
    const path = join(directory, 'kubeconfig');
    await writeFile(join(directory, 'state.json'), JSON.stringify({ clusters: [], pid: process.pid }));
    assert.deepEqual(await selected({ KUBECONFIG: path }), ['east', 'west']);
    const other = join(directory, 'other', 'kubeconfig');
    assert.deepEqual(await selected({ KUBECONFIG: `${path}:${other}` }), ['east']);
  });
});
