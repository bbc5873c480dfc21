// A test of a program that uses Services, against an API server of its own: `npm install --save-dev fairlead`.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { startCluster } from 'fairlead';

test('a Service gets a cluster IP', async () => {
  await using cluster = await startCluster({ parts: ['controllers'], gates: { SRVServiceName: true } });
  const config = new KubeConfig();
  config.loadFromString(JSON.stringify(cluster.kubeconfig));
  const core = config.makeApiClient(CoreV1Api);
  const { spec } = await core.createNamespacedService({
    namespace: 'default',
    body: { metadata: { name: 'web' }, spec: { selector: { app: 'web' }, ports: [{ port: 80 }] } },
  });
  assert.match(spec?.clusterIP ?? '', /^127\./);
});
