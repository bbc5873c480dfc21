// Many clients in a separate process, each with its own user; each sends the next request after a response. A
// quarter each lists, reads, writes, and opens and closes watches. Started by crowd.bench.ts.

import { Connection } from './client.ts';
import type { Target } from './client.ts';

/** The messages of the parent. */
export interface Crowd {
  readonly target: Omit<Target, 'token'>;
  readonly tokens: readonly string[];
  readonly clients: number;
}

const services = '/api/v1/namespaces/default/services';
const configMaps = '/api/v1/namespaces/default/configmaps';
const watchMs = 2000;

process.on('message', ({ target, tokens, clients }: Crowd) => {
  for (let id = 0; id < clients; id++) void run({ ...target, token: tokens[id % tokens.length] ?? '' }, id);
});

async function run(target: Target, id: number): Promise<void> {
  for (;;) {
    // A connection that the server closes is part of the load.
    await ask(target, id).catch(() => new Promise((resolve) => setTimeout(resolve, 50)));
  }
}

async function ask(target: Target, id: number): Promise<void> {
  const connection = await Connection.open(target);
  const name = `crowd-${id}`;
  const body = JSON.stringify({ metadata: { name }, data: { filler: 'x'.repeat(500) } });
  if (id % 4 === 0) {
    connection.stream(`${configMaps}?watch=1`, () => undefined);
    await new Promise((resolve) => setTimeout(resolve, watchMs));
    connection.close();
    return;
  }
  if (id % 4 === 1) await connection.request('POST', configMaps, body);
  for (;;) {
    if (id % 4 === 1) await connection.request('PUT', `${configMaps}/${name}`, body);
    else await connection.request('GET', id % 4 === 2 ? services : `${services}/kubernetes`);
  }
}
