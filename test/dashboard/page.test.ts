// The page of the dashboard in a real browser, beside a real cluster.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import type { Browser } from 'playwright-core';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { openPage, startChromium, withoutChromium } from './browser.ts';

describe('the page of the dashboard', { skip: withoutChromium }, () => {
  const stack = new AsyncDisposableStack();
  let up: Fairlead;
  let browser: Browser;
  let url = '';
  let kubectl = '';

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    [{ path: kubectl } = { path: '' }] = await findKubectls();
    [browser, up] = await Promise.all([startChromium(), startFairlead(path, ['up', '--demo'])]);
    stack.defer(() => browser.close());
    stack.use(up);
    await up.process.prints(/KUBECONFIG/);
    // A cast where bytes become an object: the file that `up` wrote.
    ({ dashboard: url } = JSON.parse(await readFile(join(path, 'state.json'), 'utf8')) as {
      readonly dashboard: string;
    });
  });
  after(() => stack.disposeAsync());

  const kubectlIn = async (cluster: string, ...args: readonly string[]): Promise<void> => {
    const result = await run(kubectl, ['--kubeconfig', up.kubeconfig, '--context', cluster, ...args]);
    assert.equal(result.code, 0, result.err);
  };

  test('is the address that up prints and state.json contains', () => {
    const [, printed] = /^ {2}map (\S+)$/m.exec(up.process.out) ?? [];
    assert.equal(printed, url);
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/enter\/[\w-]{32}$/);
  });

  test('shows the clusters, without the secret in its address, errors, or requests to other servers', async () => {
    await using open = await openPage(browser, url);
    for (const cluster of ['east', 'west']) await open.page.getByRole('heading', { name: cluster }).waitFor();
    await open.page.getByText('live', { exact: true }).waitFor();
    assert.equal(open.page.url(), `${new URL(url).origin}/`);
    assert.deepEqual(open.problems, []);
  });

  test('shows a change without a reload', async () => {
    await using open = await openPage(browser, url);
    await open.page.getByText('Nothing needs attention.').waitFor();
    await kubectlIn('west', 'create', 'service', 'clusterip', 'lonely', '--tcp=80');
    await open.page.getByRole('link', { name: /default\/lonely west NoEndpoints/ }).waitFor();
    await kubectlIn('west', 'delete', 'service', 'lonely');
    await open.page.getByText('Nothing needs attention.').waitFor();
    assert.deepEqual(open.problems, []);
  });

  test('explains how to sign in without the secret', async () => {
    await using open = await openPage(browser, new URL('/', url).href);
    await open.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});
