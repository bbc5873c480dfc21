// Measures the controllers of workloads and the scheduler with our server and a simulated agent: Deployments from empty, and a
// rolling update of all. The agent runs in this process and costs both sides the same.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { deploymentKind } from '../src/api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../src/api/kinds/apps/deployment/schema.ts';
import { Client } from '../src/client/client.ts';
import { overHttps } from '../src/client/https.ts';
import { readKubeconfig } from '../src/client/kubeconfig.ts';
import { readyNode, startAgent } from '../src/controllers/testing/agent.ts';
import type { Programs } from '../test/workloads/programs.ts';
import type { Result } from './api.bench.ts';
import { startFairlead } from './fairlead.ts';
import { kubeconfigFor } from './kubeconfig.ts';
import { cpuSecondsOf, settled } from './process.ts';
import type { Running } from './process.ts';
import { WatchCount } from './watch-count.ts';

const nodes = 100;
const deployments = 100;
const podsEach = 10;
const pods = deployments * podsEach;

/** What starts the programs. */
export interface WorkloadsProgram {
  readonly name: string;
  start(at: { readonly kubeconfig: string; readonly directory: string; readonly client: Client }): Promise<Programs>;
}

/** Measures programs on a new server. */
export async function measureWorkloads(
  program: WorkloadsProgram,
  progress: (text: string) => void,
): Promise<readonly Result[]> {
  await using stack = new AsyncDisposableStack();
  const server = await startFairlead();
  stack.defer(() => server.stop());
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-'));
  stack.defer(() => rm(directory, { recursive: true, force: true }));
  const kubeconfig = join(directory, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigFor(server.target));
  const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [kubeconfig] }))));
  for (let index = 0; index < nodes; index++) {
    await readyNode(client, `node-${index}`, { zone: `zone-${index % 3}`, cpu: '64' });
  }
  stack.use(startAgent({ client }));
  const programs = stack.use(await program.start({ kubeconfig, directory, client }));
  const counts = await countsOf(server);
  await settled(() => server.cpuSeconds() + cpuSecondsOf(programs.pids));
  const measured = { server, programs, counts };
  progress(`${program.name}: ${deployments} Deployments`);
  const created = await measure(measured, async () => {
    await Promise.all(
      Array.from({ length: deployments }, (_, index) => client.create(deploymentKind, deploymentOf(index))),
    );
    await rolledOut(client);
  });
  progress(`${program.name}: a rolling update`);
  const updated = await measure(measured, async () => {
    const body = { spec: { template: { spec: { containers: [{ name: 'web', image: 'web:2' }] } } } };
    await Promise.all(
      Array.from({ length: deployments }, (_, index) =>
        client.patch(deploymentKind, { namespace: 'default', name: nameOf(index) }, { body, type: 'strategic' }),
      ),
    );
    await rolledOut(client);
  });
  return [...rowsOf('from empty', created), ...rowsOf('rolling update', updated)];
}

const nameOf = (index: number): string => `web-${index}`;

function deploymentOf(index: number): Deployment {
  const labels = { app: nameOf(index) };
  const container = { name: 'web', image: 'web:1', resources: { requests: { cpu: '100m', memory: '64Mi' } } };
  const template = { metadata: { labels }, spec: { containers: [container] } };
  const spec = { replicas: podsEach, selector: { matchLabels: labels }, template };
  // A cast because the server sets the other fields.
  return { metadata: { namespace: 'default', name: nameOf(index) }, spec } as unknown as Deployment;
}

async function rolledOut(client: Client): Promise<void> {
  for (;;) {
    const { items } = await client.list(deploymentKind, { namespace: 'default' });
    const isDone = items.every(
      ({ metadata, status }) =>
        status.observedGeneration === metadata.generation &&
        [status.updatedReplicas, status.availableReplicas, status.replicas].every((count) => count === podsEach),
    );
    if (isDone) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Counters of writes. */
type Counts = Readonly<Record<'pods' | 'sets' | 'deployments' | 'events', WatchCount>>;

async function countsOf({ target }: Running): Promise<Counts> {
  const open = (path: string): Promise<WatchCount> => WatchCount.open(target, path);
  return {
    pods: await open('/api/v1/pods'),
    sets: await open('/apis/apps/v1/replicasets'),
    deployments: await open('/apis/apps/v1/deployments'),
    events: await open('/api/v1/events'),
  };
}

interface Measured {
  readonly seconds: number;
  readonly own: number;
  readonly server: number;
  /** Writes of Pods by controllers, the scheduler and the agent, and of the other kinds. */
  readonly writes: number;
  readonly events: number;
}

async function measure(
  { server, programs, counts }: { readonly server: Running; readonly programs: Programs; readonly counts: Counts },
  run: () => Promise<void>,
): Promise<Measured> {
  const writesOf = ({ added, modified }: WatchCount): number => added + modified;
  const objects = (): number => writesOf(counts.pods) + writesOf(counts.sets) + writesOf(counts.deployments);
  const before = {
    own: cpuSecondsOf(programs.pids),
    server: server.cpuSeconds(),
    writes: objects(),
    events: writesOf(counts.events),
  };
  const started = performance.now();
  await run();
  const seconds = (performance.now() - started) / 1000;
  await settled(() => server.cpuSeconds() + cpuSecondsOf(programs.pids));
  return {
    seconds,
    own: cpuSecondsOf(programs.pids) - before.own,
    server: server.cpuSeconds() - before.server,
    writes: objects() - before.writes,
    events: writesOf(counts.events) - before.events,
  };
}

const rowsOf = (what: string, { seconds, own, server, writes, events }: Measured): readonly Result[] => [
  { name: `${what}: until all are available`, value: seconds * 1000, unit: 'ms' },
  { name: `${what}: CPU of the controllers and the scheduler`, value: own * 1000, unit: 'ms' },
  { name: `${what}: CPU of the server`, value: server * 1000, unit: 'ms' },
  { name: `${what}: writes for each Pod`, value: writes / pods, unit: '' },
  { name: `${what}: Events for each Pod`, value: events / pods, unit: '' },
];
