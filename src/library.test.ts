import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';

import type { Cluster } from './library.ts';
import { startCluster } from './library.ts';

function coreApi({ kubeconfig }: Cluster): CoreV1Api {
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(kubeconfig));
  return config.makeApiClient(CoreV1Api);
}

const serviceOf = (name: string): { metadata: { name: string }; spec: { ports: { port: number }[] } } => ({
  metadata: { name },
  spec: { ports: [{ port: 80 }] },
});

describe('startCluster', () => {
  test('serves its own kubeconfig, and deletes its data when it stops', async () => {
    const cluster = await startCluster();
    const core = coreApi(cluster);
    await core.createNamespacedService({ namespace: 'default', body: serviceOf('web') });
    const { items } = await core.listNamespacedService({ namespace: 'default' });
    assert.deepEqual(
      items.map(({ metadata }) => metadata?.name),
      ['kubernetes', 'web'],
    );
    assert.ok(existsSync(cluster.kubeconfigPath));
    await cluster.stop();
    await cluster.stop();
    assert.ok(!existsSync(cluster.kubeconfigPath));
    await assert.rejects(core.listNamespacedService({ namespace: 'default' }));
  });

  test('its files are in memory, or where TMPDIR is set', async () => {
    const set = process.env['TMPDIR'];
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
    try {
      delete process.env['TMPDIR'];
      await using cluster = await startCluster({ parts: [] });
      const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
      assert.ok(cluster.kubeconfigPath.startsWith(`${memory}/fairlead-`), cluster.kubeconfigPath);
      process.env['TMPDIR'] = directory;
      await using other = await startCluster({ parts: [] });
      assert.ok(other.kubeconfigPath.startsWith(`${directory}/fairlead-`), other.kubeconfigPath);
      await other.stop();
      assert.deepEqual(await readdir(directory), []);
    } finally {
      if (set === undefined) delete process.env['TMPDIR'];
      else process.env['TMPDIR'] = set;
      await rm(directory, { recursive: true });
    }
  });

  test('several clusters run beside each other', async () => {
    await using first = await startCluster({ name: 'first', parts: [] });
    await using second = await startCluster({ name: 'second', parts: [] });
    await coreApi(first).createNamespacedService({ namespace: 'default', body: serviceOf('web') });
    const { items } = await coreApi(second).listNamespacedService({ namespace: 'default' });
    assert.equal(items.length, 1);
  });

  test('runs parts, with manifests, gates and flags', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'fairlead-test-'));
    const manifest = join(directory, 'web.json');
    const service = { apiVersion: 'v1', kind: 'Service', ...serviceOf('web') };
    await writeFile(manifest, JSON.stringify(service));
    await using cluster = await startCluster({
      parts: ['dns'],
      manifests: [manifest],
      gates: { RelaxedServiceNameValidation: false },
      flags: { 'service-cluster-ip-range': '127.99.0.0/16' },
    });
    await rm(directory, { recursive: true });
    const { spec } = await coreApi(cluster).readNamespacedService({ namespace: 'default', name: 'web' });
    assert.match(spec?.clusterIP ?? '', /^127\.99\./);
    await assert.rejects(
      coreApi(cluster).createNamespacedService({ namespace: 'default', body: serviceOf('1web') }),
      /DNS-1035/,
    );
    const resolver = new Resolver();
    resolver.setServers([`${cluster.dns?.address}:${cluster.dns?.port}`]);
    assert.deepEqual(await resolver.resolve4('kubernetes.default.svc.cluster.local'), ['127.99.0.1']);
  });

  for (const { name, options, message } of [
    { name: 'part', options: { parts: ['kubelet'] }, message: /unknown component "kubelet": expected server, / },
    { name: 'gate', options: { gates: { Nothing: true } }, message: /unrecognized feature gate: Nothing/ },
    { name: 'flag', options: { flags: { nothing: 'x' } }, message: /unknown flag "nothing"/ },
    { name: 'manifest', options: { manifests: ['/nowhere.yaml'] }, message: /cannot read --apply \/nowhere.yaml/ },
  ]) {
    test(`rejects an unknown ${name}`, async () => {
      await assert.rejects(startCluster(options), message);
    });
  }
});
