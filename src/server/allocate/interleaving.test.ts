import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { isStatusError } from '../../api/errors.ts';
import type { Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import { validateClusterIpChange } from '../../api/kinds/core/service/validate-cluster-ips.ts';
import { openMemoryStore } from '../../store/memory/memory.ts';
import type { Commit, Write } from '../../store/store.ts';
import { options, serviceWith } from './testing/cluster.ts';
import { ServiceAllocator } from './service-allocator.ts';

// Two servers over one store with small ranges, and clients that plan, commit, fail and abort in any order.

const specs: readonly ServiceSpec[] = [
  { type: 'ClusterIP', ports: [{ port: 80 }] },
  { type: 'ClusterIP', clusterIP: '10.0.0.3', ports: [{ port: 80 }] },
  { type: 'ClusterIP', ipFamilyPolicy: 'PreferDualStack', ports: [{ port: 80 }] },
  { type: 'ClusterIP', ipFamilyPolicy: 'SingleStack', ports: [{ port: 80 }] },
  {
    type: 'NodePort',
    ports: [
      { name: 'a', port: 80 },
      { name: 'b', port: 81 },
    ],
  },
  { type: 'NodePort', ports: [{ name: 'b', port: 81, nodePort: 30003 }] },
  { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports: [{ name: 'a', port: 80 }] },
  { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false, ports: [{ name: 'a', port: 80 }] },
  { type: 'ExternalName', externalName: 'example.org' },
];

type Step =
  | { readonly action: 'plan'; readonly server: number; readonly name: string; readonly spec: ServiceSpec }
  | { readonly action: 'remove'; readonly server: number; readonly name: string }
  | { readonly action: 'commit' | 'give up'; readonly which: number }
  | { readonly action: 'wait' };

const server = fc.nat({ max: 1 });
const name = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h');
const which = fc.nat({ max: 7 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ action: fc.constant('plan' as const), server, name, spec: fc.constantFrom(...specs) }),
  },
  { weight: 2, arbitrary: fc.record({ action: fc.constant('remove' as const), server, name }) },
  { weight: 5, arbitrary: fc.record({ action: fc.constantFrom('commit' as const, 'give up' as const), which }) },
  { weight: 2, arbitrary: fc.constant({ action: 'wait' as const }) },
);

interface Pending {
  readonly name: string;
  readonly expect: number;
  /** Undefined: the Service is removed. */
  readonly service: Service | undefined;
  readonly writes: readonly Write[];
  readonly settle: () => void;
}

const keyOf = (serviceName: string): string => `/registry/services/shop/${serviceName}`;

class Model implements AsyncDisposable {
  readonly store = openMemoryStore();
  readonly servers: ServiceAllocator[] = [];
  /** name → the Service and its revision, as committed */
  readonly live = new Map<string, { readonly service: Service; readonly revision: number }>();
  readonly pending: Pending[] = [];
  readonly commits: Promise<void>[] = [];

  async open(random: () => number): Promise<void> {
    const { store } = this;
    const serviceCidrs = ['10.0.0.0/29', 'fd00::/125'];
    const nodePorts = { from: 30000, to: 30007 };
    for (let count = 0; count < 2; count++) {
      this.servers.push(await ServiceAllocator.open({ store, serviceCidrs, nodePorts, random }));
    }
  }

  async run(steps: readonly Step[]): Promise<void> {
    for (const next of steps) {
      if (next.action === 'wait') await this.drain();
      else if (next.action === 'plan') this.plan(next.server, next.name, next.spec);
      else if (next.action === 'remove') this.remove(next.server, next.name);
      else this.finish(next.action, next.which);
    }
    while (this.pending.length > 0) this.finish('commit', 0);
    await this.drain();
  }

  plan(index: number, serviceName: string, spec: ServiceSpec): void {
    const allocator = this.servers[index];
    const old = this.live.get(serviceName);
    try {
      const next = serviceWith(serviceName, spec);
      const plan =
        old === undefined ? allocator?.planCreate(next, options) : allocator?.planUpdate(next, old.service, options);
      if (plan === undefined) return;
      const { service, writes } = plan;
      // The server validates next; here it only matters that an address cannot be exchanged.
      if (old !== undefined && validateClusterIpChange(service, old.service).length > 0) {
        plan.settle();
        return;
      }
      this.pending.push({
        name: serviceName,
        expect: old?.revision ?? 0,
        service,
        writes,
        settle: () => plan.settle(),
      });
    } catch (error) {
      assert.ok(isStatusError(error), String(error));
    }
  }

  remove(index: number, serviceName: string): void {
    const old = this.live.get(serviceName);
    if (old === undefined) return;
    const writes = this.servers[index]?.planDelete(old.service) ?? [];
    this.pending.push({ name: serviceName, expect: old.revision, service: undefined, writes, settle: () => undefined });
  }

  finish(action: 'commit' | 'give up', index: number): void {
    const [next] = this.pending.splice(index % Math.max(1, this.pending.length), 1);
    if (next === undefined) return;
    if (action === 'give up') next.settle();
    else this.commits.push(this.commit(next));
  }

  async commit({ name: serviceName, expect, service, writes, settle }: Pending): Promise<void> {
    const value = service && JSON.stringify(service);
    const result: Commit = await this.store.commit([{ key: keyOf(serviceName), value, expect }, ...writes]);
    settle();
    if (!result.ok) return;
    if (service === undefined) this.live.delete(serviceName);
    else this.live.set(serviceName, { service, revision: result.revision });
    this.checkNothingIsShared();
  }

  async drain(): Promise<void> {
    await Promise.all(this.commits.splice(0));
  }

  /** What all live Services hold, with repetitions. */
  held(): string[] {
    return [...this.live.values()].flatMap(({ service: { spec } }) => [
      ...(spec.clusterIPs ?? []),
      ...new Set((spec.ports ?? []).flatMap(({ nodePort }) => (nodePort === undefined ? [] : [`${nodePort}`]))),
      ...(spec.type === 'LoadBalancer' && spec.externalTrafficPolicy === 'Local'
        ? [`${spec.healthCheckNodePort}`]
        : []),
    ]);
  }

  checkNothingIsShared(): void {
    const held = this.held();
    assert.equal(new Set(held).size, held.length, held.join(' '));
  }

  /** The claims match the Services, on every server. */
  async checkClaims(): Promise<void> {
    const ranges = await Promise.all(
      ['/registry/networking.k8s.io/ipaddresses/', '/registry/nodeports/'].map((prefix) => this.store.range(prefix)),
    );
    const claims = ranges.flatMap(({ entries }) => entries.map(({ key }) => key.slice(key.lastIndexOf('/') + 1)));
    assert.deepEqual(claims.toSorted(), this.held().toSorted());
    for (const allocator of this.servers) {
      const { clusterIps, nodePorts } = allocator.metrics();
      const allocated = [...clusterIps, nodePorts].reduce((sum, pool) => sum + pool.allocated, 0);
      assert.equal(allocated, claims.length);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const allocator of this.servers) await allocator.close();
    await this.store.close();
  }
}

test('never allocates twice and releases everything, in any order of events', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 80, size: 'max' }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 1, maxLength: 10 }),
      async (steps, choices) => {
        await using model = new Model();
        let turn = 0;
        await model.open(() => choices[turn++ % choices.length] ?? 0);
        await model.run(steps);
        await model.checkClaims();

        for (const serviceName of model.live.keys()) model.remove(0, serviceName);
        await model.run([]);
        assert.equal(model.live.size, 0);
        await model.checkClaims();
      },
    ),
    { numRuns: 150 },
  );
});
