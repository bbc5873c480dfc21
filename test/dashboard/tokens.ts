// People sign in with tokens to a dashboard that others can reach. The same story for every API server.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { issue, issueCa } from '../../src/server/pki/issue.ts';
import { FairleadProcess } from '../harness/process.ts';
import type { Desk } from '../parts/typed.ts';
import { typed } from '../parts/typed.ts';
import { accessibilityProblems, openPage, overflowOf, pageAddress, startChromium } from './browser.ts';

/** An API server, a kubeconfig with the rights of the dashboard, and the name of its context. */
export interface TokenStory extends Desk {
  readonly directory: string;
  readonly dashboardKubeconfig: string;
  readonly cluster: string;
}

/** Starts `fairlead dashboard` for all addresses, with a certificate. */
async function startForOthers({ directory, dashboardKubeconfig }: TokenStory): Promise<FairleadProcess> {
  const validity = { now: new Date(), days: 1 };
  const names = { dns: ['localhost'], ips: ['127.0.0.1'] };
  const serving = await issue(await issueCa('page', validity), { use: 'server', commonName: 'page', names }, validity);
  const [cert, key] = [join(directory, 'page.crt'), join(directory, 'page.key')];
  await Promise.all([writeFile(cert, serving.cert), writeFile(key, serving.key)]);
  const tls = ['--listen', '0.0.0.0:0', '--tls-cert-file', cert, '--tls-private-key-file', key];
  const flags = ['--kubeconfig', dashboardKubeconfig, '--health-port', '0', '--log-level', 'warn'];
  return new FairleadProcess(['dashboard', ...flags, ...tls]);
}

/** A person with rights in one namespace signs in, loses the role, and signs out. */
export async function signInWithTokens(story: TokenStory): Promise<void> {
  const must = (command: string): Promise<string> => typed(story, command);
  for (const namespace of ['shop', 'hidden']) {
    await must(`create namespace ${namespace}`);
    await must(`--namespace ${namespace} create service clusterip ${namespace}-web --tcp=80`);
  }
  await must('--namespace shop create serviceaccount jane');
  const resources = 'services,endpointslices.discovery.k8s.io,events';
  await must(`--namespace shop create role viewer --verb=list --resource=${resources}`);
  await must('--namespace shop create rolebinding jane --role=viewer --serviceaccount=shop:jane');
  const token = await must('--namespace shop create token jane');
  await using stack = new AsyncDisposableStack();
  const dashboard = stack.use(await startForOthers(story));
  await dashboard.ready();
  const [, port = ''] = /^https:\/\/0\.0\.0\.0:(\d+)\/$/.exec(pageAddress(dashboard.out)) ?? [];
  const browser = await startChromium();
  stack.defer(() => browser.close());
  const options = { width: 360, height: 740, ignoresCertificate: true };
  const { page } = stack.use(await openPage(browser, `https://127.0.0.1:${port}/#/map`, options));
  const submit = page.getByRole('button', { name: 'Sign in' });
  const field = page.getByLabel(`Token for ${story.cluster}`);

  await field.fill('not-a-token-of-this-cluster');
  await submit.click();
  await page
    .getByRole('alert')
    .getByText(/rejects the credentials/)
    .waitFor();
  assert.equal(await overflowOf(page), 0);
  assert.deepEqual(await accessibilityProblems(page), []);

  await field.fill(token.trim());
  await submit.click();
  await page.getByText(/^1 Service and 0 imports in 1 namespace/).waitFor();
  await page.getByRole('link', { name: /Service shop-web in namespace shop/ }).click();
  await page.getByText('made by Service/shop/shop-web').waitFor();
  assert.doesNotMatch(await page.content(), /hidden-web/);

  await page.getByRole('link', { name: 'Map', exact: true }).click();
  await must('--namespace shop delete rolebinding jane');
  await page.getByText('Nothing matches.').waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await submit.waitFor();
  assert.doesNotMatch(dashboard.err, /forbidden/i);
}
