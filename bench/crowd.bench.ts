// Measures whether a controller keeps its Lease under load: the duration of renewals while 2,000 clients of 200 users
// connect and send requests without a pause.

import { fork } from 'node:child_process';

import type { Result } from './api.bench.ts';
import { Connection, load } from './client.ts';
import type { Target } from './client.ts';
import type { Crowd } from './crowd-clients.ts';
import type { Running } from './process.ts';
import { quantile } from './quantile.ts';

const clients = 2000;
const users = 200;
const seconds = 20;
const pauseMs = 250;
const partToken = 'part-token';

const userTokens = Array.from({ length: users }, (_, index) => `crowd-${index}`);
/** Users of the measured server, as in a token file. */
export const crowdTokens = [...userTokens, partToken].map((token) => `${token},${token},${token},crowd`).join('\n');
/** All clients have the same address. */
export const crowdFlags = ['--max-connections-per-address', '4000'];

const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

/** Renewals over a kept connection, and over a new one each time. */
export async function measureCrowd(running: Running, progress: (text: string) => void): Promise<Result[]> {
  await prepare(running.target);
  const { host, port } = running.target;
  const crowd: Crowd = { target: { host, port }, tokens: userTokens, clients };
  const program = new URL('./crowd-clients.ts', import.meta.url);
  // They stand for other machines, like the clients of abuse.bench.ts.
  const child =
    process.platform === 'linux'
      ? fork(program, { execPath: 'chrt', execArgv: ['--idle', '0', process.execPath] })
      : fork(program);
  const part: Target = { ...running.target, token: partToken };
  const connection = await Connection.open(part);
  const kept: number[] = [];
  const fresh: number[] = [];
  try {
    child.send(crowd);
    progress(`a Lease beside ${clients} clients`);
    for (const end = performance.now() + seconds * 1000; performance.now() < end;) {
      await Promise.all([renew(connection, kept), renewAnew(part, fresh)]);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  } finally {
    child.kill();
    connection.close();
  }
  const row = (name: string, taken: readonly number[]): Result => ({ name, unit: 'ms', value: quantile(taken, 0.99) });
  return [
    row(`renewal of a lease beside ${clients.toLocaleString('en')} clients, p99 (at most 1,000)`, kept),
    row('the same with a new connection each time, p99', fresh),
  ];
}

async function renewAnew(target: Target, taken: number[]): Promise<void> {
  const started = performance.now();
  const connection = await Connection.open(target);
  await renew(connection, taken, started);
  connection.close();
}

async function renew(connection: Connection, taken: number[], started = performance.now()): Promise<void> {
  const spec = { renewTime: `${new Date().toISOString().slice(0, -1)}000Z` };
  const type = 'application/merge-patch+json';
  const { status, body } = await connection.request('PATCH', `${leases}/part`, JSON.stringify({ spec }), type);
  if (status >= 300) throw new Error(`${status} ${body.toString().slice(0, 300)}`);
  taken.push(performance.now() - started);
}

/** Rights for the clients, the Lease, and 1,000 Services to list. */
async function prepare(admin: Target): Promise<void> {
  const connection = await Connection.open(admin);
  const binding = {
    metadata: { name: 'crowd' },
    subjects: [{ kind: 'Group', name: 'crowd', apiGroup: 'rbac.authorization.k8s.io' }],
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
  };
  const lease = { metadata: { name: 'part' }, spec: { holderIdentity: 'one', leaseDurationSeconds: 15 } };
  const objects = [
    ['/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', binding],
    [leases, lease],
  ] as const;
  for (const [path, body] of objects) {
    const { status, body: text } = await connection.request('POST', path, JSON.stringify(body));
    if (status >= 300) throw new Error(`${path}: ${status} ${text.toString()}`);
  }
  connection.close();
  await load(admin, {
    clients: 32,
    count: 1000,
    request: (index) => [
      'POST',
      '/api/v1/namespaces/default/services',
      JSON.stringify({ metadata: { name: `web-${index}` }, spec: { ports: [{ port: 80 }] } }),
    ],
  });
}
