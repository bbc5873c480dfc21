import { cloudLoadBalancerKind } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import type { Client } from '../../../client/client.ts';
import type { CloudLoadBalancer } from '../../../api/kinds/loadbalancer/cloudloadbalancer/kind.ts';
import { hasStatusCode } from '../../../client/transport.ts';
import type { Account } from '../../clouds/cloud.ts';
import type { Resource } from '../../clouds/resource.ts';
import { unitsOf } from '../../clouds/resource.ts';
import type { CallsOptions } from './calls.ts';
import { Calls } from './calls.ts';

/** Where a simulated cloud keeps what it has. */
export interface CloudStore {
  list(signal: AbortSignal): Promise<readonly CloudLoadBalancer[]>;
  find(name: string, signal: AbortSignal): Promise<CloudLoadBalancer | undefined>;
  /** Creates it, or replaces the revision that it carries. */
  put(object: CloudLoadBalancer, signal: AbortSignal): Promise<CloudLoadBalancer>;
  delete(name: string, signal: AbortSignal): Promise<void>;
}

/** Keeps it as CloudLoadBalancers of a cluster: `kubectl get cloudloadbalancers`. */
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

/** A change of the resources of a load balancer, and what it is called. */
export interface ResourceChange {
  readonly what: string;
  readonly change: (resources: readonly Resource[]) => readonly Resource[];
}

/**
 * What a simulated cloud has, kept as objects. Everything that a real one would be asked for is a call, which can take its
 * time and fail. One process acts at a time, and begins with what there is.
 */
export class SimulatedAccount {
  readonly #store: CloudStore;
  readonly #calls: Calls;
  /** Name → what there is. */
  readonly #states = new Map<string, CloudLoadBalancer>();
  /** What all of them have together; see `Account`. */
  readonly #units = { public: 0, internal: 0 };

  constructor(options: SimulatedAccountOptions) {
    this.#store = options.store;
    this.#calls = new Calls(options);
  }

  /** How many calls were made. */
  get calls(): number {
    return this.#calls.count;
  }

  /** Begins anew with these. */
  load(objects: readonly CloudLoadBalancer[]): void {
    for (const name of this.#states.keys()) this.#forget(name);
    for (const object of objects) this.#note(object);
  }

  /** All there are, without a call. */
  get list(): readonly CloudLoadBalancer[] {
    return [...this.#states.values()];
  }

  /** One as it is known, without a call. */
  known(name: string): CloudLoadBalancer | undefined {
    return this.#states.get(name);
  }

  /** What others than this one have. */
  without(state: CloudLoadBalancer | undefined): Account {
    const own = unitsOf(resourcesOf(state)).length;
    const side = sideOf(state);
    return { units: { ...this.#units, [side]: this.#units[side] - own } };
  }

  /** What is not known may be there nevertheless: the answer to its creation was lost. */
  describe(name: string, signal: AbortSignal): Promise<CloudLoadBalancer | undefined> {
    return this.#calls.call('describe', signal, async () => {
      if (!this.#states.has(name)) await this.#reload(name, signal);
      return this.#states.get(name);
    });
  }

  /** Makes one, or changes it as a whole. */
  async put(what: 'create' | 'change', object: CloudLoadBalancer, signal: AbortSignal): Promise<void> {
    await this.#calls.call(what, signal, async () => this.#note(await this.#store.put(object, signal)));
  }

  /** One call that changes the resources of a load balancer. */
  async write(name: string, { what, change }: ResourceChange, signal: AbortSignal): Promise<void> {
    await this.#calls.call(what, signal, async () => {
      const state = this.#states.get(name);
      if (state === undefined) throw new Error(`there is no load balancer "${name}"`);
      const resources = change(resourcesOf(state)).map(asStored);
      try {
        this.#note(await this.#store.put({ ...state, spec: { ...state.spec, resources } }, signal));
      } catch (error) {
        // Somebody changed or removed the object by hand: what it is now counts.
        if (hasStatusCode(error, 409) || hasStatusCode(error, 404)) await this.#reload(name, signal);
        throw error;
      }
    });
  }

  async delete(name: string, signal: AbortSignal): Promise<void> {
    await this.#calls.call('delete', signal, async () => {
      await this.#store.delete(name, signal);
      this.#forget(name);
    });
  }

  async #reload(name: string, signal: AbortSignal): Promise<void> {
    const found = await this.#store.find(name, signal);
    if (found === undefined) this.#forget(name);
    else this.#note(found);
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
    this.#units[sideOf(state)] += factor * unitsOf(resourcesOf(state)).length;
  }
}

const sideOf = (state: CloudLoadBalancer | undefined): keyof Account['units'] =>
  state?.spec.internal === true ? 'internal' : 'public';

type Stored = NonNullable<CloudLoadBalancer['spec']['resources']>[number];

/** The resources of a load balancer. An empty list of ports is not stored; it would mean that a resource counts. */
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
