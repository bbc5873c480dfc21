import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import type { Node } from '../api/kinds/core/node/schema.ts';
import { podKind } from '../api/kinds/core/pod/kind.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import type { Client } from '../client/client.ts';
import { systemClock } from '../client/clock.ts';
import { EventRecorder } from '../client/events.ts';
import { Informers } from '../client/informers.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import { queueMetrics } from '../client/queue-metrics.ts';
import { machineFacts } from './node/machine.ts';
import { capacityOf } from './node/plan.ts';
import { Registration } from './node/registration.ts';
import type { AgentOptions } from './options.ts';
import { startServer } from './api/server.ts';
import { Pods } from './pods/pods.ts';
import type { NodeServer, Runtime } from './pods/runtime.ts';
import { RecordStore } from './pods/record-store.ts';
import { loadProcessCalls } from './processes/native.ts';
import { Registrations } from './registrations/registrations.ts';

/** A running agent; `runtime` is undefined until it works. */
export interface RunningAgent extends RunningPart {
  runtime(): Runtime | undefined;
}

/** Makes this machine a Node and runs the Pods that are bound to it, until it is disposed of. */
export function startAgent(context: PartContext, agent: AgentOptions): RunningAgent {
  const { client, log, metrics } = context;
  const { clock = systemClock } = agent;
  const stop = new AbortController();
  const { signal } = stop;
  const informers = new Informers({ client, log });
  const pods = informers.of(podKind, { fieldSelector: `spec.nodeName=${agent.nodeName}` });
  const services = informers.of(serviceKind);
  const nodes = informers.of(nodeKind, { fieldSelector: `metadata.name=${agent.nodeName}` });
  const recorder = new EventRecorder({ client, component: 'kubelet', clock, log });
  const observer = queueMetrics(metrics)('pods');
  const failure = Promise.withResolvers<never>();
  failure.promise.catch(() => undefined); // its runner waits for `ready` first
  let registration: Registration | undefined;
  let runtime: Runtime | undefined;
  let server: NodeServer | undefined;

  /** Resolves when the agent works, with what ends when it has stopped. */
  const start = async (): Promise<{ readonly work: Promise<void> }> => {
    await mkdir(agent.directory, { recursive: true, mode: 0o711 });
    const [facts, calls] = await Promise.all([machineFacts(agent.directory), loadProcessCalls()]);
    const store = new RecordStore(agent.directory);
    const running = new Pods({
      agent,
      podRange: await podRange(agent, client),
      client,
      clock,
      log,
      calls,
      store,
      recorder,
      pods,
      services,
      allocatable: capacityOf(facts, agent.maxPods),
      observer,
    });
    const { nodeName, addresses, listen, tls, clientCa } = agent;
    runtime = running.runtime();
    const serverDirectory = join(agent.directory, 'server');
    await mkdir(serverDirectory, { recursive: true, mode: 0o700 });
    server = await startServer({
      runtime,
      client,
      nodeName,
      addresses,
      listen,
      tls,
      clientCa,
      directory: serverDirectory,
      log,
      metrics,
    });
    registration = new Registration({ agent, client, clock, log, facts, port: server.port, problems: () => [] });
    await registration.register(signal);
    informers.start();
    const unsubscribe = nodes.subscribe({ updated: (node) => reportIfLost(node) });
    const reportIfLost = (node: Node): void => {
      const ready = node.status.conditions?.find(({ type }) => type === 'Ready');
      if (ready?.status !== 'Unknown') return;
      registration
        ?.report(node, signal)
        .catch((error: unknown) => log.debug({ err: error }, 'could not report the node'));
    };
    await informers.synced(signal);
    const registrations = new Registrations({
      client,
      clock,
      log,
      directory: join(agent.directory, 'registrations'),
      nodeName: agent.nodeName,
      pods,
      services,
    });
    const work = Promise.all([registration.run(signal), running.run(signal), registrations.run(signal)]).catch(
      (error: unknown) => {
        if (!signal.aborted) failure.reject(error);
      },
    );
    const ended = work.then(async () => {
      unsubscribe();
      await running.close();
    });
    return { work: ended };
  };
  const starting = start();
  const ready = starting.then(() => undefined);
  ready.catch(() => undefined); // `problems` reports the same
  return {
    ready,
    failed: failure.promise,
    runtime: () => runtime,
    problems: () => [...informers.unsynced(), ...(registration?.problems() ?? []), ...(server?.problems() ?? [])],
    async [Symbol.asyncDispose]() {
      stop.abort();
      await starting.then(({ work }) => work).catch(() => undefined); // an error at the start was reported
      await server?.[Symbol.asyncDispose]();
      await recorder.flush();
      await informers.stop();
    },
  };
}

/** The range of addresses of Pods; undefined: they have that of the machine. */
async function podRange({ network, nodeName }: AgentOptions, client: Client): Promise<string | undefined> {
  if (network.mode === 'host') return undefined;
  const range = network.cidr ?? (await client.find(nodeKind, { name: nodeName }))?.spec.podCIDR;
  if (range === undefined)
    throw new Error(
      `there is no range of addresses for Pods: pass --pod-cidr, or set spec.podCIDR of the Node ${nodeName}`,
    );
  return range;
}
