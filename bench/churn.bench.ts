// Churn: watches that follow ConfigMaps which are created, updated twice and deleted; and a thousand clients that create and list.
// k0smotron compares stores of control planes with the same two loads.

import type { Result } from './api.bench.ts';
import { Connection } from './client.ts';
import type { Running } from './process.ts';
import { quantile } from './quantile.ts';

const watchCount = 25;
const writers = 50;
/** Or the value of CONFIGMAPS. */
const objectCount = Number(process.env['CONFIGMAPS'] ?? 10_000);
const writesPerObject = 4;
/** Events that arrive later than this after the others count as lost. */
const silenceMs = 20_000;

/** The rates of writes and of events that reach the watches, and the events that never arrive. */
export async function measureChurn(running: Running, progress: (text: string) => void): Promise<Result[]> {
  progress('churn');
  const path = '/api/v1/namespaces/default/configmaps';
  const events = new EventCount();
  const watches = await Promise.all(Array.from({ length: watchCount }, () => Connection.open(running.target)));
  for (const watch of watches) {
    watch.stream(`${path}?watch=1&labelSelector=bench%3Dchurn`, events.ofWatch());
  }
  const before = running.cpuSeconds();
  const started = performance.now();
  const latencies = await writeAll(running, objectCount, async (write, index) => {
    const metadata = { name: `churn-${index}`, labels: { bench: 'churn' } };
    const body = (round: string): string => JSON.stringify({ metadata, data: { round, text: 'x'.repeat(200) } });
    await write('POST', path, body('created'));
    await write('PUT', `${path}/churn-${index}`, body('updated'));
    await write('PUT', `${path}/churn-${index}`, body('updated again'));
    await write('DELETE', `${path}/churn-${index}`);
  });
  const writeSeconds = (performance.now() - started) / 1000;
  const writes = objectCount * writesPerObject;
  const wanted = writes * watchCount;
  while (events.seen < wanted && performance.now() - events.lastAt < silenceMs) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const eventSeconds = (events.lastAt - started) / 1000;
  const cpuSeconds = running.cpuSeconds() - before;
  for (const watch of watches) watch.close();
  return [
    { name: 'churn: writes', unit: '/s', value: writes / writeSeconds, cpuMicros: (cpuSeconds / writes) * 1e6 },
    { name: 'churn: p99 of a write', unit: 'ms', value: quantile(latencies, 0.99) },
    { name: 'churn: events to 25 watches', unit: '/s', value: events.seen / eventSeconds },
    { name: 'churn: events that were not delivered', unit: '', value: wanted - events.seen },
  ];
}

/** Counts events of watches without parsing them. */
class EventCount {
  seen = 0;
  lastAt = 0;

  /** A function that counts the events of one watch: lines that end with an object, unlike those of HTTP's frames. */
  ofWatch(): (chunk: Buffer) => void {
    let isAfterObject = false;
    return (chunk) => {
      if (isAfterObject && chunk[0] === lineFeed) this.seen++;
      for (let at = chunk.indexOf('}\n'); at >= 0; at = chunk.indexOf('}\n', at + 2)) this.seen++;
      isAfterObject = chunk.at(-1) === closingBrace;
      this.lastAt = performance.now();
    };
  }
}

const lineFeed = 0x0a;
const closingBrace = 0x7d;

type Write = (method: string, path: string, body?: string) => Promise<void>;

/** Runs `work` for each index over some connections; resolves with the milliseconds of all requests. */
async function writeAll(
  { target }: Running,
  count: number,
  work: (write: Write, index: number) => Promise<void>,
  clients = writers,
): Promise<readonly number[]> {
  const latencies: number[] = [];
  const connections: Connection[] = [];
  while (connections.length < clients) {
    const some = Math.min(50, clients - connections.length);
    connections.push(...(await Promise.all(Array.from({ length: some }, () => Connection.open(target)))));
  }
  let next = 0;
  await Promise.all(
    connections.map(async (connection) => {
      const write: Write = async (method, path, body) => {
        const started = performance.now();
        const { status, body: answer } = await connection.request(method, path, body);
        if (status >= 300) throw new Error(`${method} ${path}: ${status} ${answer.toString().slice(0, 300)}`);
        latencies.push(performance.now() - started);
      };
      for (let index = next++; index < count; index = next++) await work(write, index);
    }),
  );
  for (const connection of connections) connection.close();
  return latencies;
}

const clientCount = 1000;
const namespaces = 100;
const createsPerClient = 5;

/** 1,000 clients, each of which creates ConfigMaps and lists those of its namespace after each. */
export async function measureCreateList(running: Running, progress: (text: string) => void): Promise<Result> {
  progress('create and list');
  await writeAll(running, namespaces, (write, index) =>
    write('POST', '/api/v1/namespaces', JSON.stringify({ metadata: { name: `list-${index}` } })),
  );
  const count = clientCount * createsPerClient;
  const before = running.cpuSeconds();
  const started = performance.now();
  await writeAll(
    running,
    count,
    async (write, index) => {
      const path = `/api/v1/namespaces/list-${index % namespaces}/configmaps`;
      await write(
        'POST',
        path,
        JSON.stringify({ metadata: { name: `created-${index}` }, data: { text: 'x'.repeat(200) } }),
      );
      await write('GET', path);
    },
    clientCount,
  );
  const seconds = (performance.now() - started) / 1000;
  return {
    name: '1,000 clients: creates and lists',
    unit: '/s',
    value: (count * 2) / seconds,
    cpuMicros: ((running.cpuSeconds() - before) / (count * 2)) * 1e6,
  };
}
