// A cluster for tests of the allocator: a memory store and predictable choices.
import assert from 'node:assert/strict';

import { isStatusError } from '../../../api/errors.ts';
import type { Service, ServiceSpec } from '../../../api/kinds/core/service/schema.ts';
import { openMemoryStore } from '../../../store/memory/memory.ts';
import type { Store } from '../../../store/store.ts';
import type { Plan, PlanOptions } from '../service-allocator.ts';
import { ServiceAllocator } from '../service-allocator.ts';

/** A Service in the namespace `shop`. */
export const serviceWith = (name: string, spec: ServiceSpec): Service => ({
  metadata: { name, namespace: 'shop' },
  spec,
  status: { loadBalancer: {} },
});

export const options: PlanOptions = {
  context: { gates: { enabled: () => false }, loopbackEndpoints: [] },
  dryRun: false,
  now: '2026-01-02T03:04:05Z',
  uid: () => 'c0ffee00-0000-4000-8000-000000000000',
};
export const dryRun: PlanOptions = { ...options, dryRun: true };

/** A cluster with predictable choices: always the first number above the static band. */
export class Cluster implements AsyncDisposable {
  readonly store: Store;
  readonly allocator: ServiceAllocator;

  private constructor(store: Store, allocator: ServiceAllocator) {
    this.store = store;
    this.allocator = allocator;
  }

  static async open(serviceCidrs: readonly string[] = ['10.0.0.0/24'], store = openMemoryStore()): Promise<Cluster> {
    const nodePorts = { from: 30000, to: 30039 };
    return new Cluster(store, await ServiceAllocator.open({ store, serviceCidrs, nodePorts, random: () => 0 }));
  }

  async create(name: string, spec: ServiceSpec): Promise<Service> {
    return this.commit(this.allocator.planCreate(serviceWith(name, spec), options));
  }

  async update(old: Service, spec: ServiceSpec): Promise<Service> {
    return this.commit(this.allocator.planUpdate({ ...old, spec }, old, options));
  }

  async commit(plan: Plan): Promise<Service> {
    const result = await this.store.commit(plan.writes);
    assert.equal(result.ok, true);
    plan.settle();
    return plan.service;
  }

  async delete(old: Service): Promise<void> {
    const result = await this.store.commit(this.allocator.planDelete(old));
    assert.equal(result.ok, true);
  }

  /** The names of all claims in the store. */
  async claims(): Promise<readonly string[]> {
    const { entries } = await this.store.range('/registry/');
    return entries.map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.allocator.close();
    await this.store.close();
  }
}

/** The code, reason and message of the status that a call throws. */
export function messageOf(call: () => unknown): string {
  try {
    call();
  } catch (error) {
    if (!isStatusError(error)) throw error;
    const { code, reason = '-', message } = error.status;
    return `${code} ${reason} ${message}`;
  }
  return 'nothing was thrown';
}
