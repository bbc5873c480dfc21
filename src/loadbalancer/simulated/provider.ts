import type { CloudLoadBalancer } from '../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { LoadBalancerStatus, Service } from '../../api/kinds/core/service/schema.ts';
import type { Clock, Random } from '../../client/clock.ts';
import { systemClock } from '../../client/clock.ts';
import { isRefusal } from '../../client/transport.ts';
import type { Backends, Ensured, LoadBalancerProvider, MadeFor } from '../controller/provider.ts';
import { Allocator } from '../local/allocator.ts';
import type { Pool } from '../local/pools.ts';
import type { Wishes } from '../local/wishes.ts';
import { wishesOf } from '../local/wishes.ts';
import type { PriceBook } from '../price/book.ts';
import type { Era } from '../providers/capability.ts';
import type { Account, Cloud } from '../providers/cloud.ts';
import type { Plan } from '../providers/plan.ts';
import { ensuredAt } from '../controller/ensured.ts';
import { plan } from '../providers/plan.ts';
import type { Resource } from '../providers/resource.ts';
import { keyOfResource, unitsOf } from '../providers/resource.ts';
import type { Misbehaviour } from './calls.ts';
import { Calls } from './calls.ts';
import type { CloudStore } from './store.ts';

export interface SimulatedOptions extends Misbehaviour {
  readonly cloud: Cloud;
  readonly era: Era;
  /** Which kind of load balancer; default: what each Service asks for. */
  readonly kind?: string | undefined;
  readonly store: CloudStore;
  /** Where addresses come from, so that traffic reaches them here. */
  readonly pools: readonly Pool[];
  readonly isMixingAllowed: boolean;
  /** Default: those of the book. */
  readonly prices?: PriceBook | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

/**
 * A cloud that is not there: what it would have is kept as objects, by its own rules, limits and errors. Every resource
 * is a call of its own, and can fail on its own. Names are derived from Services, so that a controller that was killed
 * in the middle finds what it left.
 */
export class SimulatedProvider implements LoadBalancerProvider {
  readonly name: string;
  readonly classes: readonly string[];
  readonly checksHealth = true;
  readonly #options: SimulatedOptions;
  readonly #calls: Calls;
  #allocator: Allocator;
  /** Name → what the cloud has. One process acts at a time, and begins with what there is. */
  readonly #states = new Map<string, CloudLoadBalancer>();
  /** What all of them have together; see `Account`. */
  readonly #units = { public: 0, internal: 0 };

  constructor(options: SimulatedOptions) {
    const { cloud, clock = systemClock, random = Math.random } = options;
    this.name = cloud.name;
    this.classes = cloud.classes ?? [];
    this.#options = options;
    this.#calls = new Calls({ ...options, cloud: cloud.title, clock, random });
    this.#allocator = new Allocator(options.pools);
  }

  /** How many calls the cloud was sent. */
  get calls(): number {
    return this.#calls.count;
  }

  async begin(_services: readonly Service[], signal: AbortSignal): Promise<void> {
    const { store, cloud, pools } = this.#options;
    this.#states.clear();
    this.#allocator = new Allocator(pools);
    this.#units.public = 0;
    this.#units.internal = 0;
    for (const object of await store.list(signal)) {
      const { address, service, provider } = object.spec;
      const isOurs = provider === cloud.name;
      if (isOurs) this.#note(object);
      // Addresses of another cloud's load balancers stay theirs until somebody removes those.
      if (address) this.#allocator.adopt(addressWish(isOurs ? service.uid : `${provider}/${service.uid}`), [address]);
    }
  }

  async find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined> {
    const found = await this.#describe(service, signal);
    return found === undefined ? undefined : service.status.loadBalancer;
  }

  async ensure(service: Service, { nodes }: Backends, signal: AbortSignal): Promise<Ensured> {
    const planned = await this.#plan(service, nodes, signal);
    const address =
      planned.refusal === undefined ? await this.#apply(service, planned, signal) : this.#addressOf(service);
    const places = address === '' ? [] : [{ ip: address, ipMode: 'VIP' } as const];
    return ensuredAt(places, planned);
  }

  async updateBackends(service: Service, { nodes }: Backends, signal: AbortSignal): Promise<void> {
    const planned = await this.#plan(service, nodes, signal);
    if (planned.refusal === undefined) await this.#apply(service, planned, signal);
  }

  async remove(service: Service, signal: AbortSignal): Promise<void> {
    const name = this.#nameFor(service);
    const state = this.#states.get(name);
    for (const resource of (state?.spec.resources ?? []).toReversed()) {
      await this.#write(`delete ${keyOfResource(asResource(resource))}`, name, signal, (resources) =>
        resources.filter((each) => keyOfResource(each) !== keyOfResource(asResource(resource))),
      );
    }
    await this.#calls.call('delete', signal, async () => {
      await this.#options.store.delete(name, signal);
      this.#forget(name);
    });
    this.#allocator.release(service.metadata.uid ?? '');
  }

  async all(): Promise<readonly MadeFor[]> {
    return Array.from(this.#states.values(), ({ spec }) => spec.service);
  }

  /** What is not known may be there nevertheless: the answer to its creation was lost. */
  async #describe(service: Service, signal: AbortSignal): Promise<CloudLoadBalancer | undefined> {
    const name = this.#nameFor(service);
    return this.#calls.call('describe', signal, async () => {
      if (!this.#states.has(name)) await this.#reload(name, signal);
      return this.#states.get(name);
    });
  }

  async #plan(service: Service, nodes: readonly Node[], signal: AbortSignal): Promise<Plan> {
    const { cloud, era, kind, isMixingAllowed, prices } = this.#options;
    const state = await this.#describe(service, signal);
    const existing = resourcesOf(state);
    const account = this.#accountWithout(state);
    return plan(cloud, { service, nodes, era, kind, isMixingAllowed, prices, existing, account });
  }

  /** Additions first, so that a port that stays is never closed. Gives the address. */
  async #apply(service: Service, planned: Plan, signal: AbortSignal): Promise<string> {
    const name = this.#nameFor(service);
    const { create, update, remove } = planned.changes;
    const state = this.#states.get(name);
    if (state === undefined) await this.#create(service, planned, signal);
    else if (state.spec.kind !== planned.kind.name || state.spec.internal !== planned.isInternal) {
      const spec = { ...state.spec, kind: planned.kind.name, internal: planned.isInternal };
      await this.#calls.call('change', signal, async () =>
        this.#note(await this.#options.store.put({ ...state, spec }, signal)),
      );
    }
    for (const resource of create) {
      await this.#write(`create ${keyOfResource(resource)}`, name, signal, (all) => [
        ...without(all, resource),
        resource,
      ]);
    }
    for (const resource of update) {
      await this.#write(`update ${keyOfResource(resource)}`, name, signal, (all) =>
        all.map((each) => (keyOfResource(each) === keyOfResource(resource) ? resource : each)),
      );
    }
    for (const resource of remove) {
      await this.#write(`delete ${keyOfResource(resource)}`, name, signal, (all) => without(all, resource));
    }
    return this.#addressOf(service);
  }

  async #create(service: Service, { kind, isInternal }: Plan, signal: AbortSignal): Promise<void> {
    const { cloud, era, store } = this.#options;
    const { namespace = '', name = '', uid = '' } = service.metadata;
    const given = this.#allocator.allocate({ ...addressWish(uid), addresses: wishesOf(service).addresses.slice(0, 1) });
    if ('code' in given) throw new Error(given.message);
    const object: CloudLoadBalancer = {
      metadata: { name: this.#nameFor(service) },
      spec: {
        provider: cloud.name,
        kind: kind.name,
        era,
        internal: isInternal,
        address: given[0] ?? '',
        service: { namespace, name, uid },
      },
    };
    try {
      await this.#calls.call('create', signal, async () => this.#note(await store.put(object, signal)));
    } finally {
      if (!this.#states.has(this.#nameFor(service))) this.#allocator.release(uid);
    }
  }

  /** One call that changes the resources of a load balancer. */
  async #write(
    what: string,
    name: string,
    signal: AbortSignal,
    change: (resources: readonly Resource[]) => readonly Resource[],
  ): Promise<void> {
    const { store } = this.#options;
    await this.#calls.call(what, signal, async () => {
      const state = this.#states.get(name);
      if (state === undefined) throw new Error(`there is no load balancer "${name}"`);
      const resources = change(resourcesOf(state)).map(asStored);
      try {
        this.#note(await store.put({ ...state, spec: { ...state.spec, resources } }, signal));
      } catch (error) {
        // Somebody changed or removed the object by hand: what it is now counts.
        if (isRefusal(error, 409) || isRefusal(error, 404)) await this.#reload(name, signal);
        throw error;
      }
    });
  }

  async #reload(name: string, signal: AbortSignal): Promise<void> {
    const found = await this.#options.store.find(name, signal);
    if (found === undefined) this.#forget(name);
    else this.#note(found);
  }

  #nameFor(service: Service): string {
    return nameFor(this.#options.cloud.name, service);
  }

  #addressOf(service: Service): string {
    return this.#states.get(this.#nameFor(service))?.spec.address ?? '';
  }

  #accountWithout(state: CloudLoadBalancer | undefined): Account {
    const own = unitsOf(resourcesOf(state)).length;
    const side = state?.spec.internal === true ? 'internal' : 'public';
    return { units: { ...this.#units, [side]: this.#units[side] - own } };
  }

  #note(object: CloudLoadBalancer): void {
    this.#forget(object.metadata.name ?? '');
    this.#states.set(object.metadata.name ?? '', object);
    this.#count(object, 1);
  }

  #forget(name: string): void {
    const state = this.#states.get(name);
    if (state !== undefined) this.#count(state, -1);
    this.#states.delete(name);
  }

  #count(state: CloudLoadBalancer, factor: 1 | -1): void {
    this.#units[state.spec.internal === true ? 'internal' : 'public'] += factor * unitsOf(resourcesOf(state)).length;
  }
}

/**
 * The name of a load balancer: that of Kubernetes, the UID of the Service as every cloud accepts it, at its cloud. What a
 * cloud before had is not touched: a move leaves it behind, as in life.
 */
export const nameFor = (cloud: string, { metadata: { uid = '' } }: Service): string =>
  `${cloud}-${`a${uid.replaceAll('-', '')}`.slice(0, 32)}`;

type Stored = NonNullable<CloudLoadBalancer['spec']['resources']>[number];

/** An empty list is not stored; it would mean that a resource counts. */
function asResource({ type, id, serves = [], settings = {} }: Stored): Resource {
  return { type, id, ...(serves.length === 0 ? {} : { serves }), settings };
}

const asStored = ({ type, id, serves, settings }: Resource): Stored => ({
  type,
  id,
  ...(serves === undefined ? {} : { serves }),
  settings,
});

const resourcesOf = (state: CloudLoadBalancer | undefined): readonly Resource[] =>
  (state?.spec.resources ?? []).map(asResource);

const without = (resources: readonly Resource[], gone: Resource): readonly Resource[] =>
  resources.filter((each) => keyOfResource(each) !== keyOfResource(gone));

/** Any address, for one load balancer alone. */
const addressWish = (uid: string): Wishes => ({
  key: uid,
  families: ['IPv4'],
  isSecondOptional: false,
  addresses: [],
  pool: '',
  sharingKey: '',
  backendKey: '',
  ports: [],
});
