// A cluster for tests of the controllers: records their writes and creates objects in one line.

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { endpointsKind } from '../../api/kinds/core/endpoints/kind.ts';
import type { Endpoints } from '../../api/kinds/core/endpoints/schema.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { Client } from '../../client/client.ts';
import type { PartContext, RunningPart } from '../../client/part.ts';
import type { ApiRequest, Transport } from '../../client/transport.ts';
import type { ControllersOptions } from '../controllers.ts';
import { startControllers } from '../controllers.ts';

/** A write of a replica and its result. */
export interface SentWrite {
  readonly who: string;
  readonly method: string;
  readonly path: string;
  readonly status: number;
}

/** Called before a request is sent; may throw to fail it. */
export type InjectFault = (call: ApiRequest) => void;

/** Faults of a replica. */
export interface ProcessOptions {
  readonly who?: string | undefined;
  readonly injectFault?: InjectFault | undefined;
  /** Kills the replica after this number of writes, before it receives the last response. */
  readonly dieAfterWrites?: number;
}

/** A running replica of the controllers. */
export interface Process extends RunningPart {
  readonly metrics: Registry;
  /** Its log, from the level `warn` on. */
  readonly logged: readonly unknown[];
}

/** A server with running controllers. */
export class TestCluster {
  readonly #transport: () => Transport;
  readonly user: Client;
  /** All writes of all replicas, except Leases and Events. */
  readonly writes: SentWrite[] = [];

  constructor(transport: () => Transport) {
    this.#transport = transport;
    this.user = new Client(transport());
  }

  start(
    options: ControllersOptions = {},
    { who = 'a', injectFault, dieAfterWrites = Number.POSITIVE_INFINITY }: ProcessOptions = {},
  ): Process {
    const dead = new AbortController();
    const transport = this.#watched(this.#transport(), { who, dead, injectFault, dieAfterWrites });
    const metrics = new Registry();
    const logged: unknown[] = [];
    const log = pino(
      { level: 'warn', base: null, timestamp: false },
      { write: (line) => logged.push(JSON.parse(line)) },
    );
    const context: PartContext = { client: new Client(transport), log, metrics };
    const part = startControllers(context, options);
    return {
      metrics,
      logged,
      ready: part.ready,
      problems: () => part.problems(),
      [Symbol.asyncDispose]: () => part[Symbol.asyncDispose](),
    };
  }

  service(name: string, spec: Partial<ServiceSpec> = {}, metadata: ObjectMeta = {}): Promise<Service> {
    const whole = { selector: { app: name }, ports: [{ port: 80, targetPort: 8080 }], ...spec };
    // A cast because the server sets the other fields.
    const object = { metadata: { name, namespace: 'default', ...metadata }, spec: whole } as unknown as Service;
    return this.user.create(serviceKind, object);
  }

  async pod(name: string, app: string, { ip, ready = true, node = '' }: PodState): Promise<Pod> {
    const spec = { containers: [{ name: 'c', image: 'i' }], ...(node === '' ? {} : { nodeName: node }) };
    // A cast because the server sets the other fields.
    const object = { metadata: { name, namespace: 'default', labels: { app } }, spec } as unknown as Pod;
    return this.setReady(await this.user.create(podKind, object), { ip, ready });
  }

  setReady(pod: Pod, { ip, ready = true }: PodState): Promise<Pod> {
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime }];
    const status = { phase: 'Running', podIP: ip, podIPs: [{ ip }], conditions };
    const { namespace, name = '' } = pod.metadata;
    return this.user.patch(podKind, { namespace, name }, { body: { status }, subresource: 'status' });
  }

  node(name: string, zone = ''): Promise<Node> {
    const labels = zone === '' ? {} : { 'topology.kubernetes.io/zone': zone };
    return this.user.create(nodeKind, { metadata: { name, labels } } as Node);
  }

  async slices(service: string): Promise<readonly EndpointSlice[]> {
    const labelSelector = `${serviceNameLabel}=${service}`;
    return (await this.user.list(endpointSliceKind, { namespace: 'default', labelSelector })).items;
  }

  endpoints(name: string): Promise<Endpoints | undefined> {
    return this.user.find(endpointsKind, { namespace: 'default', name });
  }

  /** The addresses in the slices of a Service, sorted; `10.0.0.1!` is not ready. */
  async addresses(service: string): Promise<string> {
    return (await this.slices(service))
      .flatMap(({ endpoints }) => endpoints ?? [])
      .map(({ addresses, conditions }) => `${addresses?.join('+')}${conditions.ready === false ? '!' : ''}`)
      .toSorted()
      .join(' ');
  }

  /** The writes since the last call, such as `200 PUT endpoints/web`, sorted. */
  takeWrites(): readonly string[] {
    return this.writes
      .splice(0)
      .map(({ method, path, status }) => `${status} ${method} ${path.split('/').slice(-2).join('/')}`)
      .toSorted();
  }

  #watched(inner: Transport, { who, dead, injectFault, dieAfterWrites }: WatchedOptions): Transport {
    let count = 0;
    const send = async (call: ApiRequest): ReturnType<Transport['request']> => {
      dead.signal.throwIfAborted();
      injectFault?.(call);
      const answer = await inner.request({ ...call, signal: withDead(call.signal, dead.signal) });
      const { method, path } = call;
      const isCounted = method !== 'GET' && !/\/(events|leases)(\/|$)/.test(path);
      if (isCounted) this.writes.push({ who, method, path, status: answer.status });
      if (isCounted && ++count === dieAfterWrites) dead.abort(new Error('killed'));
      // A killed replica does not receive the response.
      dead.signal.throwIfAborted();
      return answer;
    };
    return {
      request: send,
      stream: (call) => inner.stream({ ...call, signal: withDead(call.signal, dead.signal) }),
      [Symbol.dispose]: () => inner[Symbol.dispose](),
    };
  }
}

interface PodState {
  readonly ip: string;
  readonly ready?: boolean;
  readonly node?: string;
}

interface WatchedOptions extends Required<ProcessOptions> {
  readonly who: string;
  readonly dead: AbortController;
}

const withDead = (signal: AbortSignal | undefined, dead: AbortSignal): AbortSignal =>
  signal === undefined ? dead : AbortSignal.any([signal, dead]);

/** Resolves when there were no writes for a number of event loop turns, which do not pass while the machine is paused. */
export async function quiet(cluster: TestCluster, turns = 60): Promise<void> {
  for (let [still, before] = [0, -1]; still < turns; still++) {
    if (before !== cluster.writes.length) still = 0;
    before = cluster.writes.length;
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
