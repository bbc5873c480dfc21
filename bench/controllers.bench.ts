// The controllers as a process of their own beside a server: how long and how much CPU it takes from no slice at all to
// all of them, for one change of a Pod, and for a change of every tenth.

import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Result } from './api.bench.ts';
import { Connection } from './client.ts';
import type { Target } from './client.ts';
import { startFairlead } from './fairlead.ts';
import { cpuSecondsOf, residentBytesOf, stopAll } from './process.ts';
import type { Running } from './process.ts';

const namespaces = 10;
const podsPerService = 10;
const writers = 8;

interface Scale {
  readonly services: number;
}

/** Measures the controllers over so many Services with ten Pods each. */
export async function measureControllers(scale: Scale, progress: (text: string) => void): Promise<Result[]> {
  const server = await startFairlead();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  const children: ChildProcess[] = [];
  try {
    progress('filling the cluster');
    await fill(server.target, scale);
    const slices = await SliceWatch.open(server.target);
    progress('from empty');
    const kubeconfig = join(directory, 'kubeconfig');
    await writeFile(kubeconfig, kubeconfigFor(server.target));
    const before = server.cpuSeconds();
    const started = performance.now();
    const child = startControllers(kubeconfig);
    children.push(child);
    const pid = child.pid ?? 0;
    // Services of the server itself have slices that are not ours to make.
    await slices.until(() => slices.added >= scale.services);
    const seconds = (performance.now() - started) / 1000;
    await settled(server, pid);
    const own = cpuSecondsOf([pid]);
    const theirs = server.cpuSeconds() - before;
    const name = `${scale.services.toLocaleString('en')} Services, ${(scale.services * podsPerService).toLocaleString('en')} Pods`;
    const change = await measureChanges({ server, slices, pid, count: 1, scale });
    progress('a rolling change');
    const rolling = await measureChanges({ server, slices, pid, count: scale.services, scale });
    return [
      { name: `controllers, ${name}: all slices from empty`, value: seconds * 1000, unit: 'ms' },
      { name: `controllers, ${name}: CPU of the controllers`, value: own * 1000, unit: 'ms' },
      { name: `controllers, ${name}: CPU of the server`, value: theirs * 1000, unit: 'ms' },
      { name: `controllers, ${name}: memory`, value: residentBytesOf([pid]) / 1e6, unit: 'MB' },
      { name: `controllers, ${name}: one Pod changes, until its slice is seen`, value: change.ms, unit: 'ms' },
      { name: `controllers, ${name}: writes of slices for it`, value: change.writes, unit: '' },
      { name: `controllers, ${name}: a tenth of the Pods change`, value: rolling.ms, unit: 'ms' },
      { name: `controllers, ${name}: writes of slices for that`, value: rolling.writes, unit: '' },
      { name: `controllers, ${name}: CPU of the controllers for that`, value: rolling.own * 1000, unit: 'ms' },
      { name: `controllers, ${name}: CPU of the server for that`, value: rolling.theirs * 1000, unit: 'ms' },
    ];
  } finally {
    await stopAll(children);
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

const serviceName = (index: number): string => `service-${index}`;
const podName = (service: number, index: number): string => `${serviceName(service)}-7d4b9c6f5-${index}`;
const namespaceOf = (service: number): string => `shop-${service % namespaces}`;

function startControllers(kubeconfig: string): ChildProcess {
  const program = new URL('../bin/fairlead.js', import.meta.url).pathname;
  const args = [
    program,
    'controllers',
    '--kubeconfig',
    kubeconfig,
    '--leader-elect=false',
    '--health-port',
    '0',
    '--log-level',
    'warn',
  ];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  return child;
}

const kubeconfigFor = ({ host, port, token }: Target): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'bench',
    contexts: [{ name: 'bench', context: { cluster: 'bench', user: 'bench' } }],
    clusters: [{ name: 'bench', cluster: { server: `https://${host}:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'bench', user: { token } }],
  });

/** Sends requests over several connections, each made by its number; resolves with when it began to. */
async function send(
  target: Target,
  count: number,
  request: (index: number) => readonly [method: string, path: string, body: unknown, type?: string],
): Promise<number> {
  let next = 0;
  const connections = await Promise.all(
    Array.from({ length: Math.min(writers, count) }, () => Connection.open(target)),
  );
  const started = performance.now();
  const work = async (connection: Connection): Promise<void> => {
    for (let index = next++; index < count; index = next++) {
      const [method, path, body, type] = request(index);
      const { status, body: answer } = await connection.request(method, path, JSON.stringify(body), type);
      if (status > 299) throw new Error(`${method} ${path}: ${status} ${answer.toString().slice(0, 300)}`);
    }
    connection.close();
  };
  await Promise.all(connections.map(work));
  return started;
}

async function fill(target: Target, { services }: Scale): Promise<void> {
  await send(target, namespaces, (index) => ['POST', '/api/v1/namespaces', { metadata: { name: namespaceOf(index) } }]);
  await send(target, 100, (index) => [
    'POST',
    '/api/v1/nodes',
    { metadata: { name: `node-${index}`, labels: { 'topology.kubernetes.io/zone': `zone-${index % 3}` } } },
  ]);
  await send(target, services, (index) => [
    'POST',
    `/api/v1/namespaces/${namespaceOf(index)}/services`,
    {
      metadata: { name: serviceName(index), labels: { app: serviceName(index) } },
      spec: { selector: { app: serviceName(index) }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
    },
  ]);
  const pods = services * podsPerService;
  await send(target, pods, (number) => {
    const [service, index] = [Math.floor(number / podsPerService), number % podsPerService];
    return ['POST', `/api/v1/namespaces/${namespaceOf(service)}/pods`, podOf(service, index)];
  });
  await send(target, pods, (number) => {
    const [service, index] = [Math.floor(number / podsPerService), number % podsPerService];
    return statusOf(service, index, { ready: true, ip: addressOf(number) });
  });
}

const addressOf = (number: number): string => `10.${64 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;

/** A Pod as a Deployment makes it: one container with what is usual. */
const podOf = (service: number, index: number): object => ({
  metadata: {
    name: podName(service, index),
    labels: { app: serviceName(service), 'pod-template-hash': '7d4b9c6f5' },
  },
  spec: {
    nodeName: `node-${(service + index) % 100}`,
    containers: [
      {
        name: 'app',
        image: 'registry.example.org/shop/app:1.2.3',
        ports: [{ name: 'http', containerPort: 8080 }],
        env: [{ name: 'LOG_LEVEL', value: 'info' }],
        resources: { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: '256Mi' } },
        readinessProbe: { httpGet: { path: '/ready', port: 8080 } },
      },
    ],
  },
});

function statusOf(
  service: number,
  index: number,
  { ready, ip }: { readonly ready: boolean; readonly ip: string },
): readonly [string, string, unknown, string] {
  const lastTransitionTime = new Date().toISOString().replace(/\.\d+Z$/, 'Z');
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }];
  const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
  const path = `/api/v1/namespaces/${namespaceOf(service)}/pods/${podName(service, index)}/status`;
  return ['PATCH', path, { status }, 'application/merge-patch+json'];
}

interface Change {
  readonly server: Running;
  readonly slices: SliceWatch;
  readonly pid: number;
  readonly count: number;
  readonly scale: Scale;
}

/** What it takes until the slices of `count` Services, each of which has one Pod less, are seen to say so. */
async function measureChanges({ server, slices, pid, count, scale }: Change): Promise<{
  readonly ms: number;
  readonly writes: number;
  readonly own: number;
  readonly theirs: number;
}> {
  const before = { own: cpuSecondsOf([pid]), theirs: server.cpuSeconds(), writes: slices.modified };
  const started = await send(server.target, count, (index) => {
    const [service, pod] = count === 1 ? [scale.services - 1, 3] : [index, 4];
    return statusOf(service, pod, { ready: false, ip: addressOf(service * podsPerService + pod) });
  });
  await slices.until(() => slices.modified - before.writes >= count);
  const ms = performance.now() - started;
  await settled(server, pid);
  return {
    ms,
    writes: slices.modified - before.writes,
    own: cpuSecondsOf([pid]) - before.own,
    theirs: server.cpuSeconds() - before.theirs,
  };
}

/** Resolves when neither process does anything. */
async function settled(server: Running, pid: number): Promise<void> {
  for (let last = -1, now = 0; now - last > 0.02;) {
    last = server.cpuSeconds() + cpuSecondsOf([pid]);
    await new Promise((resolve) => setTimeout(resolve, 500));
    now = server.cpuSeconds() + cpuSecondsOf([pid]);
  }
}

/** Counts what happens to slices, without reading them. */
class SliceWatch {
  added = 0;
  modified = 0;
  #check = (): void => {};

  static async open(target: Target): Promise<SliceWatch> {
    const watch = new SliceWatch();
    const connection = await Connection.open(target);
    let rest = '';
    const selector = encodeURIComponent('endpointslice.kubernetes.io/managed-by=endpointslice-controller.k8s.io');
    connection.stream(`/apis/discovery.k8s.io/v1/endpointslices?watch=true&labelSelector=${selector}`, (chunk) => {
      const lines = (rest + chunk.toString('latin1')).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (line.startsWith('{"type":"ADDED"')) watch.added++;
        else if (line.startsWith('{"type":"MODIFIED"')) watch.modified++;
      }
      watch.#check();
    });
    return watch;
  }

  until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#check = () => {
        if (!isDone()) return;
        this.#check = () => {};
        resolve();
      };
      this.#check();
    });
  }
}
