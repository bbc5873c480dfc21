// The abusive clients, in a separate process: 64 clients that write as fast as they get responses, and watch their objects.
// Started by abuse.bench.ts, which signals their start and end.

import { Connection } from './client.ts';
import type { Target } from './client.ts';

/** The messages of the parent. */
export type Command = { readonly do: 'begin'; readonly target: Target } | { readonly do: 'stop' };
/** The report of the clients at the end. */
export interface Report {
  readonly answers: Readonly<Record<number, number>>;
}

const clients = 64;
const watchesEach = 2;
/** Watches that are opened and never read. */
const deafWatches = 32;
const path = '/api/v1/namespaces/default/configmaps';

let isRunning = false;
let finished: Promise<unknown> = Promise.resolve();
let connections: Connection[] = [];
let answers: Record<number, number> = {};

process.on('message', (command: Command) => {
  if (command.do === 'begin') void begin(command.target);
  else void stop();
});

async function begin(target: Target): Promise<void> {
  isRunning = true;
  answers = {};
  const open = (count: number): Promise<Connection[]> =>
    Promise.all(Array.from({ length: count }, () => Connection.open(target)));
  const writers = await open(clients);
  const watchers = await open(clients * watchesEach);
  const deaf = await open(deafWatches);
  connections = [...writers, ...watchers, ...deaf];
  for (const watcher of watchers) watcher.stream(`${path}?watch=1`, () => undefined);
  for (const watcher of deaf) watcher.ignore(`${path}?watch=1`);
  finished = Promise.all(writers.map((writer, index) => writeOn(writer, index)));
  process.send?.('began');
}

async function writeOn(connection: Connection, client: number): Promise<void> {
  const name = `abuse-${client}`;
  for (let turn = 0; isRunning; turn++) {
    const object = JSON.stringify({ metadata: { name }, data: { turn: String(turn), filler: 'x'.repeat(1000) } });
    const { status } =
      turn === 0
        ? await connection.request('POST', path, object)
        : await connection.request('PUT', `${path}/${name}`, object);
    answers[status] = (answers[status] ?? 0) + 1;
  }
}

async function stop(): Promise<void> {
  isRunning = false;
  await finished.catch(() => undefined); // connections that the server closes are part of the load
  for (const connection of connections) connection.close();
  const report: Report = { answers };
  process.send?.(report);
}
