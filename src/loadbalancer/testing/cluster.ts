// A cluster for tests of the service controller, which creates Services in one line and records writes.
import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { Registry } from 'prom-client';

import type { CloudLoadBalancer } from '../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { cloudLoadBalancerKind } from '../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { Client } from '../../client/client.ts';
import type { RunningPart } from '../../client/part.ts';
import type { ApiRequest, Transport } from '../../client/transport.ts';
import type { LocalReply, LocalRequest } from '../../client/in-process.ts';
import { inProcess } from '../../client/in-process.ts';
import type { LoadBalancerProvider } from '../controller/provider.ts';
import type { LoadBalancerOptions, RunOptions } from '../loadbalancer.ts';
import { runServiceController, startLoadBalancer } from '../loadbalancer.ts';
import { parsePool } from '../providers/local/pools.ts';
import type { ServiceChanges } from './service.ts';
import { serviceWith } from './service.ts';

/** Enough addresses for every test. */
export const testPools = [parsePool('default=127.40.0.0/16', true)];

interface TestUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

/** An in-process server, such as that of `testServer`. */
interface LocalServer {
  handle(request: LocalRequest & { readonly user: TestUser }): Promise<LocalReply>;
}

const admin: TestUser = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };
const part: TestUser = { name: 'system:fairlead:loadbalancer', uid: '', groups: ['system:authenticated'] };

/** A cluster of an in-process server. The part has its own user, so that tests verify its role. */
export function clusterOf(server: LocalServer): TestCluster {
  const users = [admin];
  return new TestCluster(() => {
    const user = users.pop() ?? part;
    return inProcess((request) => server.handle({ ...request, user }));
  });
}

/** A test server with access for user and part. */
export class TestCluster {
  readonly #transport: () => Transport;
  readonly user: Client;
  /** All writes of the controllers, such as `PATCH services/web`, except Events and the GatewayClass of every cluster. */
  readonly writes: string[] = [];

  constructor(transport: () => Transport) {
    this.#transport = transport;
    this.user = new Client(transport());
  }

  /** Starts the part; `injectFault` is called before each request and may throw. */
  start(options: Partial<LoadBalancerOptions> = {}, injectFault?: (call: ApiRequest) => void): RunningPart {
    const context = { client: this.#client(injectFault), log: pino({ level: 'silent' }), metrics: new Registry() };
    return startLoadBalancer(context, { pools: testPools, ...options });
  }

  /** Starts the controller with a provider. */
  run(provider: LoadBalancerProvider, options: RunOptions = {}): RunningPart {
    const context = { client: this.#client(), log: pino({ level: 'silent' }), metrics: new Registry() };
    return runServiceController(context, provider, options);
  }

  create(ports: string, changes: ServiceChanges = {}): Promise<Service> {
    const { metadata, spec } = serviceWith(ports, changes);
    const { uid: _, ...named } = metadata;
    // The server allocates node ports, because those of tests would collide.
    const free = (spec.ports ?? []).map(({ nodePort: _port, ...port }) => port);
    return this.user.create(serviceKind, {
      metadata: named,
      spec: { ...spec, ports: free },
      status: { loadBalancer: {} },
    });
  }

  get(name = 'web'): Promise<Service | undefined> {
    return this.user.find(serviceKind, { namespace: 'default', name });
  }

  patch(name: string, body: unknown): Promise<Service> {
    return this.user.patch(serviceKind, { namespace: 'default', name }, { body });
  }

  setPorts(name: string, ports: string): Promise<Service> {
    const desired = (serviceWith(ports).spec.ports ?? []).map(({ nodePort: _port, ...port }) => port);
    return this.patch(name, { spec: { ports: desired } });
  }

  delete(name = 'web'): Promise<void> {
    return this.user.delete(serviceKind, { namespace: 'default', name });
  }

  node(name: string): Promise<Node> {
    return this.user.create(nodeKind, { metadata: { name } } as Node);
  }

  async balancers(): Promise<readonly CloudLoadBalancer[]> {
    return (await this.user.list(cloudLoadBalancerKind)).items;
  }

  /** Reasons of the Events of a Service, in the order of their first occurrence. */
  async reasons(name = 'web'): Promise<readonly string[]> {
    const { items } = await this.user.list(eventKind, { namespace: 'default' });
    return items
      .filter(({ involvedObject }) => involvedObject.name === name)
      .toSorted((a, b) => Number(a.metadata.resourceVersion) - Number(b.metadata.resourceVersion))
      .map(({ reason }) => reason ?? '');
  }

  /** The first address of a Service, once it has one. */
  async address(name = 'web'): Promise<string | undefined> {
    return (await this.get(name))?.status.loadBalancer.ingress?.[0]?.ip;
  }

  /** `True Reason` of a condition. */
  async condition(type: string, name = 'web'): Promise<string | undefined> {
    const found = (await this.get(name))?.status.conditions?.find((condition) => condition.type === type);
    return found === undefined ? undefined : `${found.status} ${found.reason}`;
  }

  /** Resolves when there were no writes for a number of event loop turns, which do not pass while the machine is paused. */
  async quiet(turns = 60): Promise<void> {
    for (let [still, before] = [0, -1]; still < turns; still++) {
      if (before !== this.writes.length) still = 0;
      before = this.writes.length;
      await delay(1);
    }
  }

  #client(injectFault?: (call: ApiRequest) => void): Client {
    const inner = this.#transport();
    return new Client({
      request: async (call) => {
        injectFault?.(call);
        const answer = await inner.request(call);
        const isWrite = call.method !== 'GET' && !/\/(?:events|gatewayclasses)\b/.test(call.path);
        if (isWrite) this.writes.push(`${answer.status} ${call.method} ${call.path.split('/').slice(-2).join('/')}`);
        return answer;
      },
      stream: (call) => inner.stream(call),
      [Symbol.dispose]: () => inner[Symbol.dispose](),
    });
  }
}
