// The page of the dashboard in a real browser, beside a real cluster.
import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import type { Browser } from 'playwright-core';
import { run } from '../harness/command.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import { accessibilityProblems, openPage, overflowOf, pageAddress, startChromium, withoutChromium } from './browser.ts';

const hostile = '<img id="injected" src=x onerror=alert(1)><script id="injected">alert(2)</script>';

/** A Service, an Event and an export with markup in every field that accepts it. */
const hostileObjects = JSON.stringify({
  apiVersion: 'v1',
  kind: 'List',
  items: [
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        namespace: 'default',
        name: 'hostile',
        annotations: { 'external-dns.alpha.kubernetes.io/hostname': hostile },
      },
      spec: { ports: [{ port: 80 }], selector: { app: 'hostile' } },
    },
    {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: 'hostile' },
      involvedObject: { kind: 'Service', namespace: 'default', name: 'hostile' },
      type: 'Warning',
      reason: 'NotServed',
      message: hostile,
      lastTimestamp: '2026-01-01T00:00:00Z',
    },
  ],
});

describe('the page of the dashboard', { skip: withoutChromium }, () => {
  const stack = new AsyncDisposableStack();
  let up: Fairlead;
  let browser: Browser;
  let url = '';
  let kubectl = '';

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    [{ path: kubectl } = { path: '' }] = await findKubectls();
    browser = await startChromium();
    stack.defer(() => browser.close());
    up = stack.use(await startFairlead(path, ['up', '--demo']));
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
    assert.equal(pageAddress(up.process.out), url);
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

  test('draws every Service and import, with edges from exports to imports in all clusters', async () => {
    await using open = await openPage(browser, url);
    await open.page.getByRole('link', { name: 'Map' }).click();
    const shop = open.page.getByRole('link', { name: /^(Service|Import) shop in namespace demo/ });
    await shop.nth(3).waitFor();
    const boxes = await Promise.all((await shop.all()).map((each) => each.boundingBox()));
    const tops = boxes.map((box) => box?.y);
    assert.equal(new Set(tops).size, 1, 'on one line');
    const lines = open.page.locator('.edge-ok');
    assert.equal(await lines.count(), 1);
    const edge = await lines.first().boundingBox();
    assert.ok(
      edge !== null && boxes.every((box) => box !== null && edge.x <= box.x + 30 && edge.x + edge.width > box.x),
    );
    await open.page.getByRole('searchbox').fill('sip');
    await shop.first().waitFor({ state: 'detached' });
    assert.equal(await open.page.getByRole('link', { name: /^Service sip/ }).count(), 2);
    await open.page.getByRole('checkbox', { name: 'west' }).uncheck();
    await open.page.getByText('1 Service and 0 imports in 1 namespace').waitFor();
    assert.deepEqual(open.problems, []);
  });

  test('a new Service moves no other one', async () => {
    await using open = await openPage(browser, url);
    await open.page.getByRole('link', { name: 'Map' }).click();
    await open.page.getByText(/14 Services and 2 imports/).waitFor();
    const places = (): Promise<readonly string[]> =>
      open.page.locator('.node').evaluateAll((nodes) =>
        nodes.map((node) => {
          const { x, y, width, height } = node.getBoundingClientRect();
          return [node.getAttribute('href'), x, y, width, height].join(' ');
        }),
      );
    const before = await places();
    await kubectlIn('west', 'create', 'namespace', 'zoo');
    await kubectlIn('west', '--namespace', 'zoo', 'create', 'service', 'clusterip', 'new', '--tcp=80');
    await open.page.getByRole('link', { name: /Service new in namespace zoo/ }).waitFor();
    const after = new Set(await places());
    assert.deepEqual(
      before.filter((place) => !after.has(place)),
      [],
    );
    await kubectlIn('west', 'delete', 'namespace', 'zoo');
    await open.page.getByText(/14 Services and 2 imports/).waitFor();
  });

  /** Each page, with a text that is there when it is complete. */
  const pages: readonly (readonly [path: string, text: RegExp])[] = [
    ['overview', /Nothing needs attention/],
    ['map', /14 Services and 2 imports/],
    ['service/east/demo/shop', /4 of 4 endpoints are ready, from/],
    ['service/east/demo/sip', /On each cloud/],
    ['import/west/demo/shop', /4 of 4 endpoints receive connections/],
    ['ask?q=shop.demo', /has A records, made by Service\/demo\/shop/],
    ['ask?q=nothing.demo.svc.cluster.local', /Service "demo\/nothing" does not exist/],
    ['plan', /Compare the load balancers/],
    ['timeline', /Nothing has changed yet/],
  ];
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`every page fits a width of 360 pixels and is accessible, ${colorScheme}`, async () => {
      await using open = await openPage(browser, url, { width: 360, height: 740, colorScheme });
      for (const [path, text] of pages) {
        await open.page.goto(`${new URL(url).origin}/#/${path}`);
        await open.page.getByText(text).first().waitFor();
        assert.equal(await overflowOf(open.page), 0, `${path} is wider than the window`);
        assert.deepEqual(await accessibilityProblems(open.page), [], path);
      }
      assert.deepEqual(open.problems, []);
    });
  }

  test('every page is accessible at 1280 pixels', async () => {
    await using open = await openPage(browser, url);
    for (const [path, text] of pages) {
      await open.page.goto(`${new URL(url).origin}/#/${path}`);
      await open.page.getByText(text).first().waitFor();
      assert.deepEqual(await accessibilityProblems(open.page), [], path);
    }
  });

  for (const colorScheme of ['light', 'dark'] as const) {
    test(`the README has a picture of the map, ${colorScheme}`, async () => {
      await using open = await openPage(browser, url, { height: 740, colorScheme });
      await open.page.goto(`${new URL(url).origin}/#/map?namespace=demo`);
      await open.page.getByText('12 Services and 2 imports').waitFor();
      const name = `docs/images/map-${colorScheme}.png`;
      const picture = await open.page.screenshot();
      if (process.env['WRITE_PICTURES'] !== undefined) await writeFile(join(root, name), picture);
      const [old, readme] = await Promise.all([readFile(join(root, name)), readFile(join(root, 'README.md'), 'utf8')]);
      assert.ok(readme.includes(name), `README.md shows ${name}`);
      // Width and height of a PNG. Addresses and fonts differ between machines, so that its pixels are not compared.
      assert.deepEqual(old.subarray(16, 24), picture.subarray(16, 24));
    });
  }

  test('is used with the keyboard alone', async () => {
    await using open = await openPage(browser, url);
    const { page } = open;
    await page.getByText('Nothing needs attention.').waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent.trim()'), 'Skip to content');
    await page.getByRole('link', { name: 'Map' }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByRole('link', { name: /^Service sip/ })
      .first()
      .waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('sip');
    const sip = page.getByRole('link', { name: /^Service sip in namespace demo of cluster east/ });
    await page.getByText('2 Services and 0 imports').waitFor();
    for (let presses = 0; presses < 30 && !(await sip.evaluate((link) => link.matches(':focus'))); presses++) {
      await page.keyboard.press('Tab');
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'demo/sip' }).waitFor();
  });

  test('shows hostile names, annotations, Events and conditions as text', async () => {
    const context = 'arn:aws:eks:eu:1:cluster/<b id="injected">';
    const kubeconfig = join(up.directory, 'hostile.kubeconfig');
    await copyFile(up.kubeconfig, kubeconfig);
    const renamed = await run(kubectl, ['--kubeconfig', kubeconfig, 'config', 'rename-context', 'west', context]);
    assert.equal(renamed.code, 0, renamed.err);
    const created = await run(kubectl, ['--kubeconfig', kubeconfig, '--context', context, 'create', '-f', '-'], {
      input: hostileObjects,
    });
    assert.equal(created.code, 0, created.err);
    const flags = ['--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0', '--health-port', '0', '--log-level', 'error'];
    await using dashboard = new FairleadProcess(['dashboard', ...flags]);
    await dashboard.ready();
    await using open = await openPage(browser, pageAddress(dashboard.out));
    const { page } = open;
    await page.getByRole('heading', { name: context }).waitFor();
    await page.getByRole('link', { name: 'Map' }).click();
    const node = page.getByRole('link', { name: `Service hostile in namespace default of cluster ${context}` });
    await node.getByText(hostile).waitFor();
    await node.click();
    await page.getByRole('heading', { name: 'default/hostile' }).waitFor();
    await page.getByText(hostile).nth(2).waitFor();
    await page.getByText('kind: Service').first().waitFor({ state: 'attached' });
    assert.equal(await page.locator('#injected').count(), 0);
    await page.setViewportSize({ width: 360, height: 740 });
    assert.equal(await overflowOf(page), 0, 'the page of the Service is wider than the window');
    for (const name of ['Overview', 'Map', 'Ask', 'Plan', 'Timeline']) {
      await page.getByRole('link', { name, exact: true }).click();
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
      assert.equal(await overflowOf(page), 0, `${name} is wider than the window`);
      assert.deepEqual(await accessibilityProblems(page), [], name);
    }
    assert.deepEqual(open.problems, []);
    await kubectlIn('west', 'delete', 'service', 'hostile');
  });

  test('explains how to sign in without the secret', async () => {
    await using open = await openPage(browser, new URL('/', url).href);
    await open.page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });
});
