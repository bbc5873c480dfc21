import type { CloudLoadBalancer } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { LoadBalancerStatus, Service } from '../../../api/kinds/core/service/schema.ts';
import type { Clock, Random } from '../../../client/clock.ts';
import { systemClock } from '../../../client/clock.ts';
import type { Backends, Ensured, LoadBalancerProvider, ServiceIdentity } from '../../controller/provider.ts';
import { Allocator } from '../local/allocator.ts';
import type { Pool } from '../local/pools.ts';
import type { AllocationRequest } from '../local/allocation-request.ts';
import { allocationRequestOf } from '../local/allocation-request.ts';
import type { PriceBook } from '../../clouds/price/book.ts';
import type { Era } from '../../clouds/product.ts';
import type { Cloud } from '../../clouds/cloud.ts';
import type { Plan } from '../../clouds/plan.ts';
import { ensureResult } from '../../controller/provider.ts';
import { plan } from '../../clouds/plan.ts';
import type { Resource } from '../../clouds/resource.ts';
import { keyOfResource } from '../../clouds/resource.ts';
import type { CloudStore, ResourceChange } from './account.ts';
import { resourcesOf, SimulatedAccount } from './account.ts';
import type { FaultInjection } from './calls.ts';

export interface SimulatedOptions extends FaultInjection {
  readonly cloud: Cloud;
  readonly era: Era;
  /** Default: the product that each Service selects. */
  readonly product?: string | undefined;
  readonly store: CloudStore;
  /** Real addresses, so that traffic reaches them. */
  readonly pools: readonly Pool[];
  readonly isMixingAllowed: boolean;
  /** Default: list prices. */
  readonly prices?: PriceBook | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/**
 * A simulated cloud with the rules, limits and errors of a real one. Every resource is created by a separate call, which can
 * fail. Names are derived from Services, so that a restarted controller finds existing objects.
 */
export class SimulatedProvider implements LoadBalancerProvider {
  readonly name: string;
  readonly classes: readonly string[];
  readonly checksHealth = true;
  readonly #options: SimulatedOptions;
  readonly #account: SimulatedAccount;
  #allocator: Allocator;

  constructor(options: SimulatedOptions) {
    const { cloud, clock = systemClock, random = Math.random } = options;
    this.name = cloud.name;
    this.classes = cloud.classes ?? [];
    this.#options = options;
    this.#account = new SimulatedAccount({ ...options, cloud: cloud.title, clock, random });
    this.#allocator = new Allocator(options.pools);
  }

  /** The number of calls to the cloud. */
  get calls(): number {
    return this.#account.calls;
  }

  async start(_services: readonly Service[], signal: AbortSignal): Promise<void> {
    const { store, cloud, pools } = this.#options;
    const objects = await store.list(signal);
    const isOurs = ({ spec }: CloudLoadBalancer): boolean => spec.provider === cloud.name;
    this.#account.load(objects.filter(isOurs));
    this.#allocator = new Allocator(pools);
    for (const object of objects) {
      const { address, service, provider } = object.spec;
      // Addresses of load balancers of another cloud remain in use until those are deleted.
      const holder = isOurs(object) ? service.uid : `${provider}/${service.uid}`;
      if (address) this.#allocator.adopt(addressRequest(holder), [address]);
    }
  }

  async find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined> {
    const found = await this.#account.describe(this.#nameFor(service), signal);
    return found === undefined ? undefined : service.status.loadBalancer;
  }

  async ensure(service: Service, { nodes }: Backends, signal: AbortSignal): Promise<Ensured> {
    const planned = await this.#plan(service, nodes, signal);
    if (planned.refusal === undefined) await this.#apply(service, planned, signal);
    const address = this.#account.known(this.#nameFor(service))?.spec.address ?? '';
    return ensureResult(address === '' ? [] : [{ ip: address, ipMode: 'VIP' }], planned);
  }

  async updateBackends(service: Service, { nodes }: Backends, signal: AbortSignal): Promise<void> {
    const planned = await this.#plan(service, nodes, signal);
    if (planned.refusal === undefined) await this.#apply(service, planned, signal);
  }

  async remove(service: Service, signal: AbortSignal): Promise<void> {
    const name = this.#nameFor(service);
    for (const resource of resourcesOf(this.#account.known(name)).toReversed())
      await this.#delete(name, resource, signal);
    await this.#account.delete(name, signal);
    this.#allocator.release(service.metadata.uid ?? '');
  }

  async list(): Promise<readonly ServiceIdentity[]> {
    return this.#account.list.map(({ spec }) => spec.service);
  }

  async #plan(service: Service, nodes: readonly Node[], signal: AbortSignal): Promise<Plan> {
    const { cloud, era, product, isMixingAllowed, prices } = this.#options;
    const state = await this.#account.describe(this.#nameFor(service), signal);
    const existing = resourcesOf(state);
    const account = this.#account.without(state);
    return plan(cloud, { service, nodes, era, product, isMixingAllowed, prices, existing, account });
  }

  /** Creations come first, so that no remaining port is closed. */
  async #apply(service: Service, planned: Plan, signal: AbortSignal): Promise<void> {
    const name = this.#nameFor(service);
    const { create, update, remove } = planned.changes;
    const state = this.#account.known(name);
    if (state === undefined) await this.#create(service, planned, signal);
    else if (state.spec.kind !== planned.product.name || state.spec.internal !== planned.isInternal) {
      const spec = { ...state.spec, kind: planned.product.name, internal: planned.isInternal };
      await this.#account.put('change', { ...state, spec }, signal);
    }
    for (const resource of create) {
      const add: ResourceChange['change'] = (all) => [...without(all, resource), resource];
      await this.#account.write(name, { what: `create ${keyOfResource(resource)}`, change: add }, signal);
    }
    for (const resource of update) {
      const replace: ResourceChange['change'] = (all) => all.map((each) => (isSame(each, resource) ? resource : each));
      await this.#account.write(name, { what: `update ${keyOfResource(resource)}`, change: replace }, signal);
    }
    for (const resource of remove) await this.#delete(name, resource, signal);
  }

  async #create(service: Service, { product, isInternal }: Plan, signal: AbortSignal): Promise<void> {
    const { cloud, era } = this.#options;
    const { namespace = '', name = '', uid = '' } = service.metadata;
    const addresses = this.#allocator.allocate({
      ...addressRequest(uid),
      addresses: allocationRequestOf(service).addresses.slice(0, 1),
    });
    if ('code' in addresses) throw new Error(addresses.message);
    const object: CloudLoadBalancer = {
      metadata: { name: this.#nameFor(service) },
      spec: {
        provider: cloud.name,
        kind: product.name,
        era,
        internal: isInternal,
        address: addresses[0] ?? '',
        service: { namespace, name, uid },
      },
    };
    try {
      await this.#account.put('create', object, signal);
    } finally {
      if (this.#account.known(this.#nameFor(service)) === undefined) this.#allocator.release(uid);
    }
  }

  #delete(name: string, resource: Resource, signal: AbortSignal): Promise<void> {
    const change: ResourceChange['change'] = (all) => without(all, resource);
    return this.#account.write(name, { what: `delete ${keyOfResource(resource)}`, change }, signal);
  }

  #nameFor(service: Service): string {
    return nameFor(this.#options.cloud.name, service);
  }
}

/**
 * The name of a load balancer: the cloud and the name that Kubernetes derives from the UID of the Service. After a change of
 * the cloud, load balancers of the former one remain.
 */
export const nameFor = (cloud: string, { metadata: { uid = '' } }: Service): string =>
  `${cloud}-${`a${uid.replaceAll('-', '')}`.slice(0, 32)}`;

const isSame = (one: Resource, other: Resource): boolean => keyOfResource(one) === keyOfResource(other);

const without = (resources: readonly Resource[], gone: Resource): readonly Resource[] =>
  resources.filter((each) => !isSame(each, gone));

/** A request for any address without sharing. */
const addressRequest = (uid: string): AllocationRequest => ({
  key: uid,
  families: ['IPv4'],
  isSecondOptional: false,
  addresses: [],
  pool: '',
  sharingKey: '',
  backendKey: '',
  ports: [],
});
