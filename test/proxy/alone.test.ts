// `fairlead proxy` as a separate process with the rights of its role.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';

import { ask, named } from '../../src/proxy/userspace/testing/echo.ts';
import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';

test('works with the rights of its role, serves health and metrics as kube-proxy does, and exits with 0', async () => {
  await using directory = await temporaryDirectory();
  const range = ['--service-cluster-ip-range', '127.101.0.0/16'];
  await using fairlead = await startFairlead(directory.path, ['up', '--cluster', 'one', '--parts', 'server', ...range]);
  const kubeconfig = join(directory.path, 'proxy.kubeconfig');
  const add = ['user', 'add', 'proxy', '--part', '-o', kubeconfig, '--data-dir', directory.path];
  assert.equal((await run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...add])).code, 0);
  await using pod = await named('127.192.77.1', 'a');
  const objects = [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { clusterIP: '127.101.0.80', ports: [{ port: 8000 }] },
    },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [{ name: '', port: pod.port, protocol: 'TCP' }],
      endpoints: [{ addresses: [pod.address], conditions: { ready: true } }],
    },
  ];
  const [kubectl] = await findKubectls();
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const env = { KUBECONFIG: fairlead.kubeconfig };
  const made = await run(kubectl?.path ?? '', ['-n', 'default', 'create', '-f', '-'], { input, env });
  assert.equal(made.code, 0, made.err);
  const places = ['--healthz-bind-address', '127.0.0.1:0', '--metrics-bind-address', '127.0.0.1:0'];
  await using proxy = new FairleadProcess([
    'proxy',
    '--kubeconfig',
    kubeconfig,
    '--proxy-mode',
    'userspace',
    ...places,
  ]);
  await proxy.ready();
  await until('the Service answers', async () => (await ask('127.101.0.80', { at: 8000 })) === 'a\nhi');
  const [, health = ''] = /(http:\/\/\S+)\/readyz/.exec(proxy.out) ?? [];
  const [metrics = ''] = /http:\/\/\S+\/metrics/.exec(proxy.out) ?? [];
  const healthy = await fetch(`${health}/healthz`);
  assert.deepEqual([healthy.status, await healthy.text()], [200, 'ok']);
  const text = await (await fetch(metrics)).text();
  assert.match(text, /^kubeproxy_sync_proxy_rules_last_timestamp_seconds\{ip_family="IPv4"\} [1-9]/m);
  assert.match(text, /^fairlead_proxy_connections_total\{outcome="accepted"\} [1-9]/m);
  assert.doesNotMatch(text, /^rest_client_requests_total\{code="40[13]"/m);
  assert.doesNotMatch(proxy.err, /forbidden/i);
  await proxy.stop('SIGTERM');
  assert.equal(await ask('127.101.0.80', { at: 8000 }), 'ECONNREFUSED');
});
