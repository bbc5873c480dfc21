import { cloudLoadBalancerKind } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import type { Client } from '../../../client/client.ts';
import type { CloudLoadBalancer } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { Account } from '../../clouds/cloud.ts';
import type { Resource } from '../../clouds/resource.ts';
import { unitsOf } from '../../clouds/resource.ts';
import type { CallsOptions } from './calls.ts';
import { Calls } from './calls.ts';

/** The storage of a simulated cloud. */
export interface CloudStore {
  list(signal: AbortSignal): Promise<readonly CloudLoadBalancer[]>;
  find(name: string, signal: AbortSignal): Promise<CloudLoadBalancer | undefined>;
  /** Creates the object, or replaces the revision that it carries. */
  put(object: CloudLoadBalancer, signal: AbortSignal): Promise<CloudLoadBalancer>;
  delete(name: string, signal: AbortSignal): Promise<void>;
}

/** Stores the state as CloudLoadBalancer objects in a cluster. */
export const storeIn = (client: Client): CloudStore => ({
  list: async (signal) => (await client.list(cloudLoadBalancerKind, { signal })).items,
  find: (name, signal) => client.find(cloudLoadBalancerKind, { name }, { signal }),
  put: (object, signal) =>
    object.metadata.resourceVersion === undefined
      ? client.create(cloudLoadBalancerKind, object, { signal })
      : client.update(cloudLoadBalancerKind, object, { signal }),
  delete: (name, signal) => client.delete(cloudLoadBalancerKind, { name }, { signal }),
});

export interface SimulatedAccountOptions extends CallsOptions {
  readonly store: CloudStore;
}

/** A named change of the resources of a load balancer. */
export interface ResourceChange {
  readonly what: string;
  readonly change: (resources: readonly Resource[]) => readonly Resource[];
}

/**
 * The state of a simulated cloud, stored as objects. Every operation that a real cloud has is a call with injected faults.
 * One process uses it at a time, and loads the state first.
 */
export class SimulatedAccount {
  readonly #store: CloudStore;
  readonly #calls: Calls;
  /** Name → object. */
  readonly #states = new Map<string, CloudLoadBalancer>();
  /** The sum of units; see `Account`. */
  readonly #units = { public: 0, internal: 0 };

  constructor(options: SimulatedAccountOptions) {
    this.#store = options.store;
    this.#calls = new Calls(options);
  }

  /** The number of calls. */
  get calls(): number {
    return this.#calls.count;
  }

  /** Replaces the state. */
  load(objects: readonly CloudLoadBalancer[]): void {
    for (const name of this.#states.keys()) this.#delete(name);
    for (const object of objects) this.#set(object);
  }

  /** All load balancers, without a call. */
  get list(): readonly CloudLoadBalancer[] {
    return [...this.#states.values()];
  }

  /** A load balancer, without a call. */
  known(name: string): CloudLoadBalancer | undefined {
    return this.#states.get(name);
  }

  /** The account without one load balancer. */
  without(state: CloudLoadBalancer | undefined): Account {
    const own = unitsOf(resourcesOf(state)).length;
    const side = sideOf(state);
    return { units: { ...this.#units, [side]: this.#units[side] - own } };
  }

  /** Reads an unknown object again, because the response to its creation may have been lost. */
  describe(name: string, signal: AbortSignal): Promise<CloudLoadBalancer | undefined> {
    return this.#calls.call('describe', signal, async () => {
      if (!this.#states.has(name)) await this.#reload(name, signal);
      return this.#states.get(name);
    });
  }

  /** Creates or replaces a load balancer. */
  async put(what: 'create' | 'change', object: CloudLoadBalancer, signal: AbortSignal): Promise<void> {
    await this.#calls.call(what, signal, async () => this.#set(await this.#store.put(object, signal)));
  }

  /** One call that changes the resources of a load balancer. */
  async write(name: string, { what, change }: ResourceChange, signal: AbortSignal): Promise<void> {
    await this.#calls.call(what, signal, async () => {
      const state = this.#states.get(name);
      if (state === undefined) throw new Error(`there is no load balancer "${name}"`);
      const resources = change(resourcesOf(state)).map(asStored);
      try {
        this.#set(await this.#store.put({ ...state, spec: { ...state.spec, resources } }, signal));
      } catch (error) {
        // The object was changed or deleted by hand: reload it.
        if (hasStatusCode(error, 409) || hasStatusCode(error, 404)) await this.#reload(name, signal);
        throw error;
      }
    });
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#calls.call('delete', signal, async () => {
      await this.#store.delete(name, signal);
      this.#delete(name);
    });
  }

  async #reload(name: string, signal: AbortSignal): Promise<void> {
    const found = await this.#store.find(name, signal);
    if (found === undefined) this.#delete(name);
    else this.#set(found);
  }

  #set(object: CloudLoadBalancer): void {
    this.#delete(object.metadata.name ?? '');
    this.#states.set(object.metadata.name ?? '', object);
    this.#count(object, 1);
  }

  #delete(name: string): void {
    const state = this.#states.get(name);
    if (state !== undefined) this.#count(state, -1);
    this.#states.delete(name);
  }

  #count(state: CloudLoadBalancer, factor: 1 | -1): void {
    this.#units[sideOf(state)] += factor * unitsOf(resourcesOf(state)).length;
  }
}

const sideOf = (state: CloudLoadBalancer | undefined): keyof Account['units'] =>
  state?.spec.internal === true ? 'internal' : 'public';

type Stored = NonNullable<CloudLoadBalancer['spec']['resources']>[number];

/** The resources of a load balancer. An empty `serves` is omitted, since it would mark a billed resource. */
export const resourcesOf = (state: CloudLoadBalancer | undefined): readonly Resource[] =>
  (state?.spec.resources ?? []).map(({ type, id, serves = [], settings = {} }) => ({
    type,
    id,
    ...(serves.length === 0 ? {} : { serves }),
    settings,
  }));

const asStored = ({ type, id, serves, settings }: Resource): Stored => ({
  type,
  id,
  ...(serves === undefined ? {} : { serves }),
  settings,
});
