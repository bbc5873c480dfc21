// Measures one API server with 100,000 Services: over SQLite, or over etcd.

import { createRequest, measureWrites, updateRequest } from './api.bench.ts';
import type { Result } from './api.bench.ts';
import { Connection, load } from './client.ts';
import type { Target } from './client.ts';
import { startEtcd, startServers } from './etcd/programs.ts';
import type { Running } from './process.ts';
import { quantile } from './quantile.ts';

const services = '/api/v1/namespaces/default/services';
const total = 100_000;
const step = 10_000;
const warmUp = 1000;

/** `etcd` is the program; undefined: over SQLite. */
export async function measureScale(etcd: string | undefined, progress: (text: string) => void): Promise<Result[]> {
  const store = etcd === undefined ? undefined : await startEtcd(etcd);
  const servers = await startServers(store && { url: store.url, prefix: '/bench' });
  const running: Running = { ...servers, cpuSeconds: () => servers.cpuSeconds() + (store?.cpuSeconds() ?? 0) };
  const results: Result[] = [];
  try {
    await measureWrites(running, { clients: 64, count: warmUp, request: createRequest('warm') });
    for (let until = step; until <= total; until += step) {
      progress(`creates up to ${until}`);
      const isFirst = until === step;
      const count = isFirst ? step - warmUp : step;
      const request = createRequest(isFirst ? 'first' : `until-${until}`);
      const measured = await measureWrites(running, { clients: 64, count, request });
      if (isFirst || until === total) {
        results.push({ name: `creates, 64 clients, up to ${until.toLocaleString('en')}`, unit: '/s', ...measured });
      }
    }
    const updates = { clients: 64, count: 3000, request: updateRequest };
    results.push({ name: 'updates, 64 clients', unit: '/s', ...(await measureWrites(running, updates)) });
    results.push(...(await measureReads(running, progress)));
    progress('restart');
    results.push({ name: 'start until the first answer', unit: 'ms', value: await servers.restart() });
    await new Promise((resolve) => setTimeout(resolve, 5000)); // start-up work must end before memory is read
    results.push({ name: 'memory of the server after a start', unit: 'MB', value: servers.residentBytes() / 1e6 });
    return results;
  } finally {
    await servers.stop();
    await store?.stop();
  }
}

async function measureReads(running: Running, progress: (text: string) => void): Promise<Result[]> {
  const { target } = running;
  const results: Result[] = [];
  const once = async (name: string, path: string): Promise<void> => {
    progress(name);
    const seconds = await load(target, { clients: 1, count: 1, request: () => ['GET', path] });
    results.push({ name, unit: 'ms', value: seconds * 1000 });
  };
  await once('list of all, one response', services);
  await once('list of 500, the first page', `${services}?limit=500`);
  results.push({ name: 'watch until all initial events', unit: 'ms', value: await initialEvents(target) });
  const begins: number[] = [];
  for (let round = 0; round < 20; round++) begins.push(await firstEvent(target, round));
  results.push({ name: 'start of a watch until its first event, p50', unit: 'ms', value: quantile(begins, 0.5) });
  const seconds = await load(target, {
    clients: 1,
    count: 300,
    request: (index) => ['GET', `${services}/first-${index}`],
  });
  results.push({ name: 'get', unit: 'ms', value: (seconds / 300) * 1000 });
  results.push({ name: 'memory of the server', unit: 'MB', value: running.residentBytes() / 1e6 });
  return results;
}

/** The duration of a watch with `sendInitialEvents`, until the bookmark that ends them. */
async function initialEvents(target: Target): Promise<number> {
  const path = `${services}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`;
  return elapsed(target, path, 'k8s.io/initial-events-end');
}

/** The time from the request of a watch, during which an object changes, to the event. */
async function firstEvent(target: Target, round: number): Promise<number> {
  const writer = await Connection.open(target);
  const list = await writer.request('GET', `${services}?limit=1`);
  const revision = /"resourceVersion":"(\d+)"/.exec(list.body.toString())?.[1] ?? '';
  const patch = JSON.stringify({ metadata: { annotations: { round: `r${round}` } } });
  await writer.request('PATCH', `${services}/first-0`, patch, 'application/merge-patch+json');
  writer.close();
  return elapsed(target, `${services}?watch=1&resourceVersion=${revision}`, '"type":"MODIFIED"');
}

/** The time from a request until its response has a text. */
async function elapsed(target: Target, path: string, text: string): Promise<number> {
  const connection = await Connection.open(target);
  const { promise, resolve } = Promise.withResolvers<void>();
  const started = performance.now();
  let tail = '';
  connection.stream(path, (chunk) => {
    const received = tail + chunk.toString('latin1');
    if (received.includes(text)) resolve();
    tail = received.slice(-text.length);
  });
  await promise;
  connection.close();
  return performance.now() - started;
}
