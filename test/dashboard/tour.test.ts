// The tour of the README, followed on the page: what a person does with kubectl is seen, explained and planned there.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import type { Browser, Page } from 'playwright-core';
import { root } from '../harness/process.ts';
import type { OpenPage } from './browser.ts';
import { accessibilityProblems, openPage, startChromium, withoutChromium } from './browser.ts';
import type { TwoClusters } from './two-clusters.ts';
import { startTwoClusters } from './two-clusters.ts';

describe('the tour on the page', { skip: withoutChromium }, () => {
  const stack = new AsyncDisposableStack();
  let clusters: TwoClusters;
  let browser: Browser;
  let open: OpenPage;
  let page: Page;

  before(async () => {
    browser = await startChromium();
    stack.defer(() => browser.close());
    clusters = stack.use(await startTwoClusters());
    open = stack.use(await openPage(browser, clusters.url));
    ({ page } = open);
    for (const cluster of ['east', 'west'] as const) await clusters.kubectl(cluster, ['create', 'namespace', 'shop']);
  });
  after(() => stack.disposeAsync());

  const goTo = (name: string) => page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name }).click();
  const serviceOf = (port: number): string => `
apiVersion: v1
kind: Service
metadata: { namespace: shop, name: cart }
spec: { ports: [{ name: http, port: ${port} }] }
`;
  const exportManifest = `
apiVersion: multicluster.k8s.io/v1alpha1
kind: ServiceExport
metadata: { namespace: shop, name: cart }
`;

  test('an export becomes an edge to an import in every cluster', async () => {
    await goTo('Map');
    await page.getByText(/2 Services and 0 imports/).waitFor();
    await clusters.kubectl('east', ['-n', 'shop', 'apply', '-f', join(root, 'examples/multicluster/cart.yaml')]);
    for (const cluster of ['east', 'west']) {
      await page.getByRole('link', { name: `Import cart in namespace shop of cluster ${cluster}` }).waitFor();
    }
    await page.locator('.edge-ok').waitFor();
    assert.match(await page.locator('.edge text').innerHTML(), /exported by east/);
    await page.getByRole('link', { name: /^Import cart .* of cluster west/ }).click();
    await page.getByText('2 of 2 endpoints are ready, from east').waitFor();
    const { code, out } = await clusters.status();
    assert.equal(code, 0, out);
    assert.match(out, /nothing needs attention/);
  });

  test('a DNS question is answered with its reason', async () => {
    await goTo('Ask');
    await page.getByLabel('Name or address').fill('cart.shop.svc.clusterset.local');
    await page.getByLabel('Cluster').selectOption('west');
    await page.getByRole('button', { name: 'Ask' }).click();
    const answer = page.getByRole('region', { name: 'Answer of west' });
    await answer.getByText(/^cart\.shop\.svc\.clusterset\.local\. \d+ IN A 127\.129\.\d+\.\d+$/).waitFor();
    await answer.getByText(/has A records, made by /).waitFor();
  });

  test('a conflict is planned, then shown with its explanation, and resolved', async () => {
    await clusters.kubectl('west', ['create', '-f', '-'], serviceOf(8081));
    await goTo('Plan');
    await page.getByLabel('In cluster').selectOption('west');
    await page.getByLabel('Service', { exact: true }).fill('shop/cart');
    await page.getByRole('button', { name: 'Plan the export' }).click();
    await page.getByText('This would cause problems.').waitFor();
    await page.getByText('to fix it, in west: change port http to 8080/TCP').waitFor();

    await clusters.kubectl('west', ['create', '-f', '-'], exportManifest);
    await goTo('Overview');
    // Both clusters report it in the same words: it is one problem.
    const conflict = page.getByRole('link', { name: /shop\/cart east west Conflict/ });
    await conflict.waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await conflict.click();
    await page.getByRole('heading', { name: 'shop/cart' }).waitFor();
    assert.deepEqual(await accessibilityProblems(page), []);
    await page
      .getByRole('list')
      .getByText(/ports|http/)
      .first()
      .waitFor();
    await goTo('Map');
    await page.locator('.edge-conflict').waitFor();
    const { code, out } = await clusters.status();
    assert.equal(code, 1, out);
    assert.match(out, /^error +west +shop\/cart +Conflict /m);

    const fix = '[{"op":"replace","path":"/spec/ports/0/port","value":8080}]';
    await clusters.kubectl('west', ['-n', 'shop', 'patch', 'service', 'cart', '--type=json', '-p', fix]);
    await page.locator('.edge-ok').waitFor();
    assert.match(await page.locator('.edge text').innerHTML(), /exported by east, west/);
    await goTo('Overview');
    await page
      .getByRole('link', { name: /Conflict/ })
      .first()
      .waitFor({ state: 'detached' });
  });

  test('a load balancer that the cloud refuses is shown with the reason and with clouds that serve it', async () => {
    const sip = await readFile(join(root, 'examples/tour/sip.yaml'), 'utf8');
    await clusters.kubectl('west', ['create', '-f', '-'], sip);
    await page
      .getByRole('link', { name: /default\/sip west/ })
      .first()
      .click();
    await page
      .getByText(/GCE load balancer does not support TCP and UDP on one load balancer/)
      .first()
      .waitFor();
    const prices = page.getByRole('region', { name: 'On each cloud', exact: true }).first();
    assert.match(await prices.getByRole('row', { name: /^gce l4-split/ }).innerText(), /yes/);
    await goTo('Overview');
    await clusters.kubectl('west', ['delete', 'service', 'sip']);
    const attention = page.getByRole('region', { name: 'Needs attention' });
    await attention
      .getByRole('link', { name: /default\/sip/ })
      .first()
      .waitFor({ state: 'detached' });
  });

  test('a cluster that was killed is lost, and its return is shown, without a reload', async () => {
    await clusters.killEast();
    await page.getByRole('heading', { name: '1 cluster of 2 lost' }).waitFor();
    await page.getByRole('link', { name: /^Error east ClusterLost requests to cluster east fail/ }).click();
    await page.getByText('does not answer').waitFor();
    await page.getByRole('link', { name: /^Service cart in namespace shop of cluster east/ }).waitFor();
    const { code, out } = await clusters.status();
    assert.equal(code, 3, out);
    assert.match(out, /^east +lost /m);
    await clusters.startEast();
    await page.getByText('does not answer').waitFor({ state: 'detached' });
    await goTo('Timeline');
    await page.getByText('cluster answers again').waitFor();
  });

  test('nothing on the page failed', () => assert.deepEqual(open.problems, []));
});
