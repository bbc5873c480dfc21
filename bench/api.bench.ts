// Measures the API server: durable writes, lists, watches, start-up and memory.

import { Connection, load } from './client.ts';
import type { Running } from './process.ts';

export interface Result {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  /** CPU of the server per operation in microseconds, if it applies. */
  readonly cpuMicros?: number;
}

const services = '/api/v1/namespaces/default/services';
/** The number of Services at the end. */
const total = 10_000;
const watcherCount = 1000;

/** Runs the whole measurement against one fresh server. */
export async function measureApi(running: Running, progress: (text: string) => void): Promise<Result[]> {
  const results: Result[] = [{ name: 'cold start to first answer', unit: 'ms', value: running.coldStartMs }];
  await new Promise((resolve) => setTimeout(resolve, 3000)); // start-up work must end before memory is read
  results.push({ name: 'resident memory, empty', unit: 'MB', value: running.residentBytes() / 1e6 });

  await measureWrites(running, { clients: 64, count: 500, request: createRequest('warm') }); // warm caches and compilers
  const batches = [
    { name: 'creates, 1 client', clients: 1, count: 500, tag: 'one' },
    { name: 'creates, 64 clients, first 3,000', clients: 64, count: 3000, tag: 'first' },
    { name: 'creates, 64 clients, up to 8,000', clients: 64, count: 4000, tag: 'middle' },
    { name: 'creates, 64 clients, up to 10,000', clients: 64, count: total - 8000, tag: 'last' },
  ];
  for (const { name, clients, count, tag } of batches) {
    progress(name);
    results.push({
      name,
      unit: '/s',
      ...(await measureWrites(running, { clients, count, request: createRequest(tag) })),
    });
  }
  for (const clients of [1, 64]) {
    const name = `updates, ${clients} client${clients === 1 ? '' : 's'}`;
    progress(name);
    const count = clients === 1 ? 500 : 3000;
    results.push({ name, unit: '/s', ...(await measureWrites(running, { clients, count, request: updateRequest })) });
  }
  await new Promise((resolve) => setTimeout(resolve, 10_000)); // both servers release memory when they are idle
  results.push({ name: 'resident memory, 10,000 Services', unit: 'MB', value: running.residentBytes() / 1e6 });
  progress('list');
  results.push(await measureList(running));
  progress('watch');
  results.push(await measureFanOut(running));
  return results;
}

/** A request by its number. */
export type Request = (index: number) => [string, string, string?, string?];

/** Creates a Service. */
export const createRequest =
  (tag: string): Request =>
  (index) => ['POST', services, JSON.stringify(service(`${tag}-${index}`))];

/** A patch that changes one annotation: every index another Service. */
export const updateRequest: Request = (index) => [
  'PATCH',
  `${services}/first-${index % 3000}`,
  JSON.stringify({ metadata: { annotations: { 'example.org/turn': String(index) } } }),
  'application/merge-patch+json',
];

const service = (name: string): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, labels: { app: name, team: 'bench' }, annotations: { 'example.org/note': 'x'.repeat(200) } },
  spec: {
    selector: { app: name },
    ports: [
      { name: 'http', port: 80, targetPort: 8080 },
      { name: 'metrics', port: 9090, targetPort: 'metrics' },
    ],
  },
});

/** The rate of writes, and the CPU of the server for each. */
export async function measureWrites(
  running: Running,
  batch: { readonly clients: number; readonly count: number; readonly request: Request },
): Promise<{ value: number; cpuMicros: number }> {
  const before = running.cpuSeconds();
  const seconds = await load(running.targets ?? running.target, batch);
  return {
    value: batch.count / seconds,
    cpuMicros: ((running.cpuSeconds() - before) / batch.count) * 1e6,
  };
}

/** The duration of a complete list. */
export async function measureList(running: Running, count = total): Promise<Result> {
  const rounds = 5;
  const before = running.cpuSeconds();
  const seconds = await load(running.target, { clients: 1, count: rounds, request: () => ['GET', services] });
  const cpuMicros = ((running.cpuSeconds() - before) / rounds) * 1e6;
  return {
    name: `list of ${count.toLocaleString('en')} Services`,
    unit: 'ms',
    value: (seconds / rounds) * 1000,
    cpuMicros,
  };
}

/** The time until every watcher has received one write. */
export async function measureFanOut(running: Running): Promise<Result> {
  const path = '/api/v1/namespaces/default/configmaps';
  const writer = await Connection.open(running.target);
  const rounds = 20; // the kernel counts CPU in steps of 10 ms
  let seen = 0;
  let wanted = 0;
  let done = (): void => undefined;
  const watchers: Connection[] = [];
  const targets = running.targets ?? [running.target];
  for (let opened = 0; opened < watcherCount; opened += 50) {
    const target = targets[(opened / 50) % targets.length] ?? running.target;
    const some = await Promise.all(Array.from({ length: 50 }, () => Connection.open(target)));
    for (const connection of some) {
      connection.stream(`${path}?watch=1&resourceVersion=0&fieldSelector=metadata.name%3Dfan-out`, (chunk) => {
        if (chunk.includes('"round')) seen++;
        if (seen === wanted) done();
      });
      watchers.push(connection);
    }
  }
  const created = { metadata: { name: 'fan-out' }, data: {} };
  await writer.request('POST', path, JSON.stringify(created));
  await new Promise((resolve) => setTimeout(resolve, 1000));
  const before = running.cpuSeconds();
  let milliseconds = 0;
  for (let round = 1; round <= rounds; round++) {
    seen = 0;
    wanted = watcherCount;
    const all = new Promise<void>((resolve) => (done = resolve));
    const started = performance.now();
    await writer.request('PUT', `${path}/fan-out`, JSON.stringify({ ...created, data: { [`round-${round}`]: 'x' } }));
    await all;
    milliseconds += performance.now() - started;
  }
  const cpuMicros = ((running.cpuSeconds() - before) / rounds / watcherCount) * 1e6;
  for (const connection of [...watchers, writer]) connection.close();
  return { name: 'one write to 1,000 watchers', unit: 'ms', value: milliseconds / rounds, cpuMicros };
}
