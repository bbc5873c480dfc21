// Measures the agent: how long a Pod takes from its creation on a node until clients reach it, and what the agent costs.
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { Exec, KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';

import { podKind } from '../src/api/kinds/core/pod/kind.ts';
import type { Pod } from '../src/api/kinds/core/pod/schema.ts';
import { serviceKind } from '../src/api/kinds/core/service/kind.ts';
import type { Service } from '../src/api/kinds/core/service/schema.ts';
import { Client } from '../src/client/client.ts';
import { overHttps } from '../src/client/https.ts';
import { Informers } from '../src/client/informers.ts';
import { readKubeconfig } from '../src/client/kubeconfig.ts';
import { podObject, processContainer, Stand } from '../test/agent/stand.ts';
import type { Result } from './api.bench.ts';
import { residentBytesOf } from './process.ts';
import { median } from './quantile.ts';

const rounds = 21;
const manyPods = 200;
const idleSeconds = 60;
const settleMs = 5000;
const pollMs = 2;
const namespace = 'default';

/** Starts fast, so that the agent is measured and not its program. */
const backend =
  'use IO::Socket::INET; my $s = IO::Socket::INET->new(LocalAddr => $ENV{POD_IP}, LocalPort => 8080, Listen => 9, ReuseAddr => 1) or die; ' +
  'while (my $c = $s->accept) { print $c "ok\\n"; close $c }';

export async function measureAgent(progress: (text: string) => void): Promise<readonly Result[]> {
  return [...(await measureWork(progress)), await measureIdle(progress)];
}

async function measureWork(progress: (text: string) => void): Promise<readonly Result[]> {
  await using stand = await Stand.start(['--max-pods', '300'], { parts: 'server,controllers,dns,proxy' });
  using client = new Client(overHttps(await readKubeconfig({ paths: [stand.kubeconfig], context: 'east' })));
  const informers = new Informers({ client, log: pino({ level: 'silent' }) });
  const seen = new Sightings();
  const pods = informers.of(podKind);
  pods.subscribe({ added: (pod) => seen.note(pod), updated: (pod) => seen.note(pod) });
  informers.start();
  await informers.synced(AbortSignal.timeout(10_000));
  const dns = await dnsPort(stand);
  const all: Arrival[] = [];
  for (let round = 0; round < rounds; round++) {
    progress(`Pod ${round + 1} of ${rounds}`);
    all.push(await arrival({ client, seen, dns }, round));
  }
  const exec = await measureExec(stand, client, progress);
  progress(`${manyPods} Pods`);
  const many = Array.from({ length: manyPods }, (_, index) =>
    podObject(
      `many-${index}`,
      { containers: [processContainer('c', ['sleep', '100000'])] },
      { labels: { app: 'many' } },
    ),
  );
  await stand.create(...many);
  await stand.must('wait', 'pods', '-l', 'app=many', '--for=condition=Ready', '--timeout=55s');
  await delay(settleMs);
  const bytes = residentBytesOf([stand.agent.pid]);
  await informers.stop();
  const p50 = (name: string, of: (each: Arrival) => number): Result => ({
    name: `${name} (p50)`,
    value: median(all.map(of)),
    unit: 'ms',
  });
  return [
    p50('Pod created on the node until its process runs', ({ runningMs }) => runningMs),
    p50('until it is ready', ({ readyMs }) => readyMs),
    p50('until DNS returns its address', ({ dnsMs }) => dnsMs),
    p50('until a connection to the cluster IP reaches it', ({ proxyMs }) => proxyMs),
    ...exec,
    { name: `memory of the agent beside ${manyPods} Pods`, value: bytes / 1e6, unit: 'MB' },
  ];
}

interface Arrival {
  readonly runningMs: number;
  readonly readyMs: number;
  readonly dnsMs: number;
  readonly proxyMs: number;
}

/** When Pods were first seen running and ready. */
class Sightings {
  readonly #at = new Map<string, PromiseWithResolvers<number>>();

  note({ metadata, status }: Pod): void {
    const isRunning = status.containerStatuses?.[0]?.state.running !== undefined;
    const isReady = status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True') ?? false;
    if (isRunning) this.#of(`${metadata.name} running`).resolve(performance.now());
    if (isReady) this.#of(`${metadata.name} ready`).resolve(performance.now());
  }

  first(name: string, what: 'running' | 'ready'): Promise<number> {
    return this.#of(`${name} ${what}`).promise;
  }

  #of(key: string): PromiseWithResolvers<number> {
    const known = this.#at.get(key) ?? Promise.withResolvers<number>();
    this.#at.set(key, known);
    return known;
  }
}

interface Measured {
  readonly client: Client;
  readonly seen: Sightings;
  readonly dns: number;
}

/** Creates a Pod behind a Service with a cluster IP and a headless one, and waits until both lead to it. */
async function arrival({ client, seen, dns }: Measured, round: number): Promise<Arrival> {
  const name = `round-${round}`;
  const selector = { app: name };
  const ports = [{ port: 80, targetPort: 8080 }];
  // A cast: the server fills in the rest.
  const service = (suffix: string, more: object): Service =>
    ({ metadata: { namespace, name: `${name}${suffix}` }, spec: { selector, ports, ...more } }) as unknown as Service;
  const { spec } = await client.create(serviceKind, service('', {}));
  await client.create(serviceKind, service('-headless', { clusterIP: 'None' }));
  await delay(500); // the components have both Services
  const container = processContainer('c', ['perl', '-e', backend]);
  const pod = podObject(
    name,
    { containers: [container], terminationGracePeriodSeconds: 0 },
    { namespace, labels: selector },
  );
  const start = performance.now();
  const [runningMs, readyMs, dnsMs, proxyMs] = await Promise.all([
    seen.first(name, 'running').then((at) => at - start),
    seen.first(name, 'ready').then((at) => at - start),
    untilTrue(() => resolves(`${name}-headless.${namespace}.svc.cluster.local`, dns)).then((at) => at - start),
    untilTrue(() => answers(spec.clusterIP ?? '', 80)).then((at) => at - start),
    client.create(podKind, pod as Pod),
  ]);
  await client.delete(podKind, { namespace, name });
  return { runningMs, readyMs, dnsMs, proxyMs };
}

async function untilTrue(probe: () => Promise<boolean>): Promise<number> {
  for (const end = performance.now() + 30_000; performance.now() < end; await delay(pollMs))
    if (await probe()) return performance.now();
  throw new Error('a Pod was not reached within 30 s');
}

function answers(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 1000 });
    socket.once('data', () => {
      resolve(true);
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('timeout', () => socket.destroy());
    socket.once('close', () => resolve(false));
  });
}

/** Whether a name has an address. */
function resolves(name: string, port: number): Promise<boolean> {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.of(label.length), Buffer.from(label)]));
  const header = Buffer.from([0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const socket = createSocket('udp4');
  return new Promise((resolve) => {
    const timer = setTimeout(() => done(false), 1000);
    const done = (found: boolean): void => {
      clearTimeout(timer);
      socket.close();
      resolve(found);
    };
    socket.once('message', (reply) => done(reply.readUInt16BE(6) > 0));
    socket.once('error', () => done(false));
    socket.send(Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])]), port, '127.0.0.1');
  });
}

async function dnsPort(stand: Stand): Promise<number> {
  // A cast where bytes become an object: `up` wrote the file.
  const state = JSON.parse(await readFile(join(stand.directory, 'data', 'state.json'), 'utf8')) as {
    readonly clusters: readonly { readonly dns?: { readonly port: number } }[];
  };
  return state.clusters[0]?.dns?.port ?? 0;
}

/** A command through the API server, beside what it consists of: a request, and the start of a process. */
async function measureExec(stand: Stand, client: Client, progress: (text: string) => void): Promise<readonly Result[]> {
  progress('exec');
  const name = 'target';
  await stand.create(podObject(name, { containers: [processContainer('c', ['sleep', '100000'])] }));
  await stand.podUntil(name, 'is ready', ({ status }) => status.phase === 'Running');
  const config = new KubeConfig();
  config.loadFromFile(stand.kubeconfig);
  config.setCurrentContext('east');
  const exec = new Exec(config);
  const command = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const [out, err] = [new PassThrough().resume(), new PassThrough().resume()];
      exec.exec(namespace, name, 'c', ['true'], out, err, null, false, () => resolve()).catch(reject);
    });
  const p50 = async (title: string, work: () => Promise<unknown>): Promise<Result> => {
    const times: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const start = performance.now();
      await work();
      times.push(performance.now() - start);
    }
    return { name: `${title} (p50)`, value: median(times), unit: 'ms' };
  };
  return [
    await p50('exec of `true` through the API server', command),
    await p50('a process that this machine starts', () => once(spawn('true', { stdio: 'pipe' }), 'close')),
    await p50('a request to the API server', () => client.get(podKind, { namespace, name })),
  ];
}

/** The requests of an agent with one Pod that does nothing. */
async function measureIdle(progress: (text: string) => void): Promise<Result> {
  await using stand = await Stand.start([], { parts: 'server' });
  await stand.create(podObject('idle', { containers: [processContainer('c', ['sleep', '100000'])] }));
  await stand.podUntil('idle', 'runs', ({ status }) => status.phase === 'Running');
  await delay(settleMs);
  progress(`an idle agent, ${idleSeconds} s`);
  const before = await requests(stand);
  await delay(idleSeconds * 1000);
  const count = (await requests(stand)) - before;
  return { name: 'requests of an idle agent in 10 s', value: count / (idleSeconds / 10), unit: '' };
}

/** Requests for the kinds that an agent uses. */
async function requests(stand: Stand): Promise<number> {
  const text = await stand.must('get', '--raw', '/metrics');
  return Array.from(
    text.matchAll(
      /^apiserver_request_total\{[^}]*resource="(?:pods|nodes|leases|events|configmaps|secrets|services)"[^}]*\} (\d+)$/gm,
    ),
    ([, count]) => Number(count),
  ).reduce((sum, count) => sum + count, 0);
}
