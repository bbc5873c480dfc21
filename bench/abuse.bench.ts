// Measures whether one client can starve another: latencies of a second user and a Lease while 64 clients of a first user saturate
// writes and watches, and without that load. Both phases alternate and medians are reported, so
// that the noise of a machine falls on both.

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

import type { Command, Report } from './abuse-clients.ts';
import type { Result } from './api.bench.ts';
import { Connection } from './client.ts';
import type { Target } from './client.ts';
import type { Running } from './process.ts';
import { median, quantile } from './quantile.ts';

/** Users of the measured server: tokens as in a token file, without the administrator's. */
export const abuseTokens = ['abuser-token,mallory,11', 'second-token,alice,12', 'part-token,part,13'].join('\n');

const rounds = 7;
/** The duration of a measurement, after the previous phase has settled. */
const phaseMs = 4000;
const settleMs = 1000;
const pauseMs = 4;
const configMaps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';

/** A request that must stay fast. */
interface Probe {
  readonly name: string;
  readonly token: string;
  readonly prepare: readonly [path: string, body: object];
  readonly request: (turn: number) => readonly [method: string, path: string, body?: string, type?: string];
}

const merge = 'application/merge-patch+json';
const probes: readonly Probe[] = [
  {
    name: 'read of a second user',
    token: 'second-token',
    prepare: [configMaps, { metadata: { name: 'read' }, data: { a: 'b' } }],
    request: () => ['GET', `${configMaps}/read`],
  },
  {
    name: 'write of a second user',
    token: 'second-token',
    prepare: [configMaps, { metadata: { name: 'written' }, data: {} }],
    request: (turn) => ['PATCH', `${configMaps}/written`, JSON.stringify({ data: { turn: `${turn}` } }), merge],
  },
  {
    name: 'renewal of a lease',
    token: 'part-token',
    prepare: [leases, { metadata: { name: 'part' }, spec: { holderIdentity: 'one', leaseDurationSeconds: 15 } }],
    request: () => [
      'PATCH',
      `${leases}/part`,
      JSON.stringify({ spec: { renewTime: `${new Date().toISOString().slice(0, -1)}000Z` } }),
      merge,
    ],
  },
];

/** The p99 of each probe under load, as a multiple of its p99 without. */
export async function measureAbuse(running: Running, progress: (text: string) => void): Promise<Result[]> {
  const as = (token: string): Target => ({ ...running.target, token });
  await prepare(running.target);
  const abusers = startAbusers();
  const send = (command: Command): boolean => abusers.send(command);
  try {
    await phase(as); // warms caches and compilers
    const figures = probes.map(() => ({ idle: [] as number[], abused: [] as number[] }));
    let writes = 0;
    for (let round = 1; round <= rounds; round++) {
      progress(`abuse, round ${round} of ${rounds}`);
      const idle = await phase(as);
      send({ do: 'begin', target: as('abuser-token') });
      await once(abusers, 'message');
      const started = performance.now();
      const abused = await phase(as);
      const seconds = (performance.now() - started) / 1000;
      send({ do: 'stop' });
      const [{ answers }] = (await once(abusers, 'message')) as [Report];
      writes += ((answers[200] ?? 0) + (answers[201] ?? 0)) / seconds / rounds;
      for (const [index, figure] of figures.entries()) {
        figure.idle.push(p99(idle[index] ?? []));
        figure.abused.push(p99(abused[index] ?? []));
      }
    }
    return [
      { name: 'writes of 64 abusive clients', unit: '/s', value: writes },
      ...probes.flatMap(({ name }, index): Result[] => {
        const { idle = [], abused = [] } = figures[index] ?? {};
        return [
          { name: `${name}, p99 idle`, unit: 'ms', value: median(idle) },
          { name: `${name}, p99 beside the abuse`, unit: 'ms', value: median(abused) },
          {
            name: `${name}, ratio (at most 2)`,
            unit: '×',
            value: median(abused.map((ms, at) => ms / (idle[at] ?? ms))),
          },
        ];
      }),
    ];
  } finally {
    abusers.kill();
  }
}

/**
 * The clients stand for other machines: on Linux they run with the lowest priority and only use processor time that is left
 * over.
 */
function startAbusers(): ChildProcess {
  const program = new URL('./abuse-clients.ts', import.meta.url);
  return process.platform === 'linux'
    ? fork(program, { execPath: 'chrt', execArgv: ['--idle', '0', process.execPath] })
    : fork(program);
}

/** Creates the objects of the probes, and the rights to them. */
async function prepare(admin: Target): Promise<void> {
  const connection = await Connection.open(admin);
  const users = ['mallory', 'alice', 'part'].map((name) => ({
    kind: 'User',
    name,
    apiGroup: 'rbac.authorization.k8s.io',
  }));
  const binding = {
    metadata: { name: 'bench' },
    subjects: users,
    roleRef: { kind: 'ClusterRole', name: 'cluster-admin', apiGroup: 'rbac.authorization.k8s.io' },
  };
  const bindings = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings';
  for (const [path, body] of [[bindings, binding] as const, ...probes.map((probe) => probe.prepare)]) {
    const { status, body: text } = await connection.request('POST', path, JSON.stringify(body));
    if (status >= 300 && path !== bindings) throw new Error(`${path}: ${status} ${text.toString()}`);
  }
  connection.close();
}

/** Milliseconds of every request of every probe in one phase. */
async function phase(as: (token: string) => Target): Promise<readonly number[][]> {
  const begin = performance.now() + settleMs;
  const end = begin + phaseMs;
  return Promise.all(
    probes.map(async ({ token, request }) => {
      const connection = await Connection.open(as(token));
      const taken: number[] = [];
      for (let turn = 0; performance.now() < end; turn++) {
        const started = performance.now();
        const { status, body } = await connection.request(...request(turn));
        if (started > begin) taken.push(performance.now() - started);
        if (status >= 300) throw new Error(`${status} ${body.toString().slice(0, 300)}`);
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
      connection.close();
      return taken;
    }),
  );
}

const p99 = (values: readonly number[]): number => quantile(values, 0.99);
