import assert from 'node:assert/strict';
import { test } from 'node:test';

import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { run } from '../harness/command.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { until } from '../../src/server/testing/until.ts';

test('Pods of the demo and webhooks of an earlier up are no longer ready or called', async () => {
  await using data = await temporaryDirectory();
  const [{ path: kubectl } = { path: 'kubectl' }] = await findKubectls();
  const get = async (kubeconfig: string, ...what: readonly string[]): Promise<string> =>
    (await run(kubectl, ['get', ...what, '--no-headers'], { env: { KUBECONFIG: kubeconfig } })).out;
  for (const signal of ['SIGKILL', 'SIGTERM'] as const) {
    {
      await using demo = await startFairlead(data.path, ['up', '--demo', '--cluster', 'east']);
      await demo.process.prints(/old-shop\.demo.*\n/);
      await until('the Pods are ready', async () =>
        /^(?:shop-\S+ +1\/1 +Running .*\n){2}$/.test(await get(demo.kubeconfig, '-n', 'demo', 'pods')),
      );
      assert.match(await get(demo.kubeconfig, 'validatingwebhookconfigurations'), /^fairlead-multicluster /);
      await demo.stop(signal);
      assert.equal(demo.process.err, '', 'a demo that is stopped logs nothing');
    }
    await using later = await startFairlead(data.path, ['up', '--parts', 'server', '--cluster', 'east']);
    assert.match(
      await get(later.kubeconfig, '-n', 'demo', 'pods'),
      /^(?:shop-\S+ +0\/1 +ContainerStatusUnknown .*\n){2}$/,
    );
    assert.equal(await get(later.kubeconfig, 'validatingwebhookconfigurations'), '');
    await later.stop();
  }
});
