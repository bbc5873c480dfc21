// The dashboard as a process of its own, with clusters in another one, and its page in Chromium: the time until the map is
// drawn, until a change is visible, and the cost of changes and of idle pages.
//   node bench/dashboard.bench.ts               5,000 Services of 10 endpoints in each of 3 clusters
//   node bench/dashboard.bench.ts 1 100 10
import { once } from 'node:events';
import { get } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';

import { openPage, pageAddress, startChromium } from '../test/dashboard/browser.ts';
import type { Result } from './api.bench.ts';
import type { Target } from './client.ts';
import { Connection } from './client.ts';
import type { MapScale } from './dashboard/objects.ts';
import { changeOf, fillMap, namespaceOf } from './dashboard/objects.ts';
import { frames, pageSeconds, paintMs, seenAt } from './dashboard/page.ts';
import { startClusters } from './multicluster/clusters.ts';
import { cpuSecondsOf, residentBytesOf, settled, start, stopAll } from './process.ts';
import { median, quantile } from './quantile.ts';

const pages = 10;
const perSecond = 100;
const seconds = 10;
const rounds = 5;
const singleChanges = 20;
/** The server collects its garbage once after much work. */
const restMs = 10_000;

/** Measures the dashboard of these clusters. */
export async function measureDashboard(scale: MapScale, progress: (text: string) => void): Promise<Result[]> {
  await using stack = new AsyncDisposableStack();
  progress('filling the clusters');
  const { targets, kubeconfig } = stack.use(await startClusters(scale.clusters));
  await fillMap(targets, scale);
  progress('starting the dashboard');
  const { pid, url, child } = await startDashboard(kubeconfig);
  stack.defer(() => stopAll([child]));
  const server = (): number => cpuSecondsOf([pid]);
  await settled(server);
  const browser = await startChromium();
  stack.defer(() => browser.close());
  const { origin } = new URL(url);
  const { context, page } = stack.use(await openPage(browser, url));

  progress('drawing the map');
  const shown = (scale.clusters * (scale.services + 1)).toLocaleString('en');
  const paints: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const other = await context.newPage();
    paints.push(await paintMs(other, `${origin}/#/map`, shown));
    await other.close();
  }

  progress('single changes');
  await paintMs(page, `${origin}/#/map`, shown);
  const visible = await singleChangesMs(page, targets, scale);

  progress('many changes');
  for (let index = 1; index < pages; index++) stack.use(await openStream(url));
  await delay(2000);
  const before = server();
  const [{ perSecond: framesPerSecond, longestMs }] = await Promise.all([
    frames(page, seconds * 1000),
    change(targets, scale),
  ]);
  const busy = (server() - before) / seconds;

  progress('no changes');
  await delay(restMs);
  const [idleServer, idlePage] = [server(), await pageSeconds(page)];
  await delay(seconds * 1000);
  const percent = (share: number): Pick<Result, 'value' | 'unit'> => ({ value: 100 * share, unit: '% of a core' });
  return [
    {
      name: `the map of ${shown} Services is drawn, with a warm cache of the server`,
      value: median(paints),
      unit: 'ms',
    },
    { name: 'one change is visible, median', value: median(visible), unit: 'ms' },
    { name: 'one change is visible, 95th percentile', value: quantile(visible, 0.95), unit: 'ms' },
    { name: `frames while ${perSecond} Services change a second`, value: framesPerSecond, unit: '/s' },
    { name: 'the longest frame meanwhile', value: longestMs, unit: 'ms' },
    { name: `the server meanwhile, with ${pages} open pages`, ...percent(busy) },
    { name: `the server without changes, with ${pages} open pages`, ...percent((server() - idleServer) / seconds) },
    { name: 'a page without changes', ...percent(((await pageSeconds(page)) - idlePage) / seconds) },
    { name: 'memory of the server', value: residentBytesOf([pid]) / 2 ** 20, unit: 'MiB' },
  ];
}

/** Starts `fairlead dashboard` for all clusters of a kubeconfig. */
async function startDashboard(kubeconfig: string) {
  const program = new URL('../bin/fairlead.js', import.meta.url).pathname;
  const flags = ['--kubeconfig', kubeconfig, '--listen', '127.0.0.1:0', '--health-port', '0', '--log-level', 'error'];
  const child = start(process.execPath, [program, 'dashboard', ...flags]);
  let out = '';
  child.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
  while (!/^ready in /m.test(out)) {
    if (child.exitCode !== null) throw new Error(`the dashboard ended with ${child.exitCode}`);
    await delay(20);
  }
  return { child, pid: child.pid ?? 0, url: pageAddress(out) };
}

/** The time from a write until its frame, of changes that follow each other. */
async function singleChangesMs(
  page: Parameters<typeof seenAt>[0],
  [target]: readonly Target[],
  { services, endpoints }: MapScale,
): Promise<readonly number[]> {
  if (target === undefined) throw new Error('bug: no cluster');
  const connection = await Connection.open(target);
  const all = Math.ceil(services / 50) * endpoints;
  const measured: number[] = [];
  for (let round = 0; round < singleChanges; round++) {
    const notReady = round % 2 === 0 ? 1 : 0;
    const text = `${(all - notReady).toLocaleString('en')}/${all.toLocaleString('en')} ready`;
    const seen = seenAt(page, { namespace: namespaceOf(0), text });
    await delay(300);
    const at = Date.now();
    await connection.request(...changeOf(0, endpoints, notReady));
    measured.push((await seen) - at);
  }
  connection.close();
  return measured;
}

/** Changes Services all over the clusters, evenly in time. */
async function change(targets: readonly Target[], { services, endpoints }: MapScale): Promise<void> {
  const connections = await Promise.all(targets.map((target) => Connection.open(target)));
  const begin = performance.now();
  for (let index = 0; index < perSecond * seconds; index++) {
    await delay(Math.max(0, begin + (index * 1000) / perSecond - performance.now()));
    const service = (index * 37) % services;
    await connections[index % connections.length]?.request(...changeOf(service, endpoints, 1 + (index % 3)));
  }
  for (const connection of connections) connection.close();
}

/** A page without a browser: it signs in, and reads all rows and changes. */
async function openStream(url: string): Promise<Disposable> {
  const ask = async (path: string, headers = {}) => {
    const call = get(new URL(path, url), { headers, agent: false });
    const [response] = (await once(call, 'response')) as Parameters<NonNullable<Parameters<typeof get>[2]>>;
    response.resume();
    return { call, response };
  };
  const { response } = await ask(url);
  const [cookie = ''] = response.headers['set-cookie'] ?? [];
  const { call } = await ask('/api/stream', { cookie: cookie.split(';', 1)[0] });
  call.on('error', () => undefined); // the server ends first
  return { [Symbol.dispose]: () => void call.destroy() };
}

if (import.meta.main) {
  const [clusters = 3, services = 5000, endpoints = 10] = process.argv.slice(2).map(Number);
  const { figures } = await import('./table.ts');
  console.log(figures(await measureDashboard({ clusters, services, endpoints }, (text) => console.error(text))));
  process.exit(0); // connections of watches are left open
}
