// A simulated agent: Pods on its nodes run at once, become ready, and end when they are deleted.
import { pino } from 'pino';

import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Client } from '../../client/client.ts';
import { Informers } from '../../client/informers.ts';
import { keyOf, nameOf } from '../../client/key.ts';
import { WorkQueue } from '../../client/queue.ts';
import { hasStatusCode } from '../../client/transport.ts';

/** How the containers of a Pod fare; default: they run and are ready. */
export type Fate = 'ready' | 'unready' | 'pending' | 'succeed' | 'fail';

export interface AgentOptions {
  readonly client: Client;
  /** Decides for each Pod; called again for each change of it. */
  readonly fate?: (pod: Pod) => Fate;
  /** Only Pods of these nodes; default: all. */
  readonly runs?: (node: string) => boolean;
}

/** A running agent. */
export interface TestAgent extends AsyncDisposable {
  /** Decides about all Pods again, after the outcome of `fate` has changed. */
  refresh(): void;
}

/** Runs the Pods of all nodes. */
export function startAgent({ client, fate = () => 'ready', runs = () => true }: AgentOptions): TestAgent {
  const stop = new AbortController();
  const informers = new Informers({ client, log: pino({ level: 'silent' }) });
  const pods = informers.of(podKind);
  let addresses = 0;
  const queue = new WorkQueue({
    workers: 16,
    async work(key, signal) {
      const pod = pods.get(key);
      if (pod === undefined || !pod.spec.nodeName || !runs(pod.spec.nodeName)) return;
      if (pod.metadata.deletionTimestamp !== undefined) return end(client, pod, signal);
      if (pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed') return;
      const next = fate(pod);
      const current = fateOf(pod);
      if (next === current) return;
      const podIP = pod.status.podIP ?? `10.244.${(++addresses >> 8) & 255}.${addresses & 255}`;
      await writeStatus(client, pod, statusFor(pod, next, podIP), signal);
    },
  });
  informers.start();
  const running = (async (): Promise<void> => {
    await pods.synced(stop.signal).catch(() => undefined);
    pods.subscribe({ added: (pod) => queue.add(keyOf(pod)), updated: (pod) => queue.add(keyOf(pod)) });
    await queue.run(stop.signal);
  })();
  return {
    refresh: () => {
      for (const pod of pods.list()) queue.add(keyOf(pod));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await informers.stop();
    },
  };
}

/** Creates a node that reports to be ready. */
export async function readyNode(
  client: Client,
  name: string,
  { zone = '', cpu = '64' }: { readonly zone?: string; readonly cpu?: string } = {},
): Promise<Node> {
  const labels = { 'kubernetes.io/hostname': name, ...(zone === '' ? {} : { 'topology.kubernetes.io/zone': zone }) };
  // A cast because the server sets the other fields.
  await client.create(nodeKind, { metadata: { name, labels } } as unknown as Node);
  const amounts = { cpu, memory: '256Gi', pods: '250' };
  const conditions = [
    { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: timestamp(Date.now()) },
  ];
  const status = { capacity: amounts, allocatable: amounts, conditions };
  return client.patch(nodeKind, { name }, { body: { status }, subresource: 'status' });
}

function fateOf({ status: { phase, conditions = [] } }: Pod): Fate {
  if (phase === 'Pending') return 'pending';
  return conditions.some(({ type, status }) => type === 'Ready' && status === 'True') ? 'ready' : 'unready';
}

function statusFor({ spec, status }: Pod, fate: Fate, podIP: string): object {
  const now = timestamp(Date.now());
  const isDone = fate === 'succeed' || fate === 'fail';
  const exitCode = fate === 'fail' ? 1 : 0;
  const state = isDone
    ? { terminated: { exitCode, reason: exitCode === 0 ? 'Completed' : 'Error', startedAt: now, finishedAt: now } }
    : { running: { startedAt: now } };
  const condition = (type: string, isTrue: boolean): object => ({
    type,
    status: isTrue ? 'True' : 'False',
    lastTransitionTime: now,
  });
  return {
    phase: fate === 'succeed' ? 'Succeeded' : fate === 'fail' ? 'Failed' : 'Running',
    podIP,
    podIPs: [{ ip: podIP }],
    startTime: status.startTime ?? now,
    conditions: [condition('Ready', fate === 'ready'), condition('ContainersReady', fate === 'ready')],
    containerStatuses: (spec.containers ?? []).map(({ name, image = '' }) => ({
      name,
      image,
      imageID: '',
      ready: fate === 'ready',
      restartCount: 0,
      state,
    })),
  };
}

async function writeStatus(client: Client, pod: Pod, status: object, signal: AbortSignal): Promise<void> {
  const body = { metadata: { uid: pod.metadata.uid }, status };
  try {
    await client.patch(podKind, nameOf(pod), {
      body,
      type: 'strategic',
      subresource: 'status',
      signal,
      metadataOnly: true,
    });
  } catch (error) {
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
  }
}

/** The containers end, then the Pod goes. */
async function end(client: Client, pod: Pod, signal: AbortSignal): Promise<void> {
  const { uid = '' } = pod.metadata;
  const isDone = pod.status.phase === 'Succeeded' || pod.status.phase === 'Failed';
  if (!isDone)
    await writeStatus(client, pod, { ...statusFor(pod, 'succeed', pod.status.podIP ?? '10.244.0.0') }, signal);
  try {
    await client.delete(podKind, nameOf(pod), { gracePeriodSeconds: 0, preconditions: { uid }, signal });
  } catch (error) {
    if (!hasStatusCode(error, 404) && !hasStatusCode(error, 409)) throw error;
  }
}
