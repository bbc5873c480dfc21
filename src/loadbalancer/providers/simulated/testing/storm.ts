// Creates, changes and deletes many Services while a cloud fails. Used by tests of different lengths.
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

import { serviceKind } from '../../../../api/kinds/core/service/kind.ts';
import type { Service } from '../../../../api/kinds/core/service/schema.ts';
import type { Clock } from '../../../../client/clock.ts';
import type { TestCluster } from '../../../testing/cluster.ts';
import { testPools } from '../../../testing/cluster.ts';
import type { Era } from '../../../clouds/product.ts';
import { cloudNamed } from '../../../clouds/clouds.ts';
import { plan } from '../../../clouds/plan.ts';
import type { Resource } from '../../../clouds/resource.ts';
import { keyOfResource, portText } from '../../../clouds/resource.ts';
import { resourcesOf, storeIn } from '../account.ts';
import { nameFor, SimulatedProvider } from '../provider.ts';

/** A clock on which every delay ends immediately. */
export const immediateClock: Clock = {
  now: () => Date.now(),
  elapsed: () => performance.now(),
  after(_ms, run) {
    const soon = setImmediate(run);
    return () => clearImmediate(soon);
  },
  resumedAt: () => 0,
};

/** A seeded random generator (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const portSets = ['80/TCP', '53/TCP 53/UDP', '80/TCP 443/TCP 443/UDP', '9000/SCTP', '53/UDP', '80/TCP 9000/SCTP'];

export interface StormOptions {
  readonly cloudName: string;
  readonly services: number;
  /** Seed of all random decisions. */
  readonly seed: number;
  readonly deadlineMs?: number;
}

/** Asserts that a storm at a cloud with 20 % failing calls converges without leaks or hot loops. */
export async function runStorm(cluster: TestCluster, options: StormOptions): Promise<void> {
  const { cloudName, services, seed, deadlineMs } = options;
  const cloud = cloudNamed(cloudName);
  assert.ok(cloud);
  const random = seeded(seed);
  const shared = { clock: immediateClock, random };
  const store = storeIn(cluster.user);
  const faulty = { cloud, era: 'today', store, pools: testPools, isMixingAllowed: true, failures: 0.2 } as const;
  const provider = new SimulatedProvider({ ...faulty, ...shared });
  await using running = cluster.run(provider, shared);
  await running.ready;
  const changes = await storm(cluster, services, random);
  await waitUntilConsistent(() => inconsistencies(cluster, cloudName, 'today'), `seed ${seed}`, deadlineMs);
  const perChange = provider.calls / changes;
  assert.ok(perChange < 40, `${perChange} calls a change (seed ${seed})`);
  await cluster.quiet();
  const settledAt = provider.calls;
  await cluster.quiet(200);
  assert.equal(provider.calls, settledAt, 'no calls in a steady state');
}

/** Creates Services, and changes or deletes most of them while they are reconciled. */
async function storm(cluster: TestCluster, count: number, random: () => number): Promise<number> {
  let changes = 0;
  const pick = (): string => portSets[Math.floor(random() * portSets.length)] ?? '80/TCP';
  const live = async (name: string): Promise<void> => {
    await cluster.create(pick(), { name });
    changes++;
    for (let turn = Math.floor(random() * 3); turn > 0; turn--) {
      await cluster.setPorts(name, pick());
      changes++;
    }
    const chance = random();
    if (chance < 0.3) await cluster.delete(name);
    else if (chance < 0.4) await cluster.patch(name, { spec: { type: 'ClusterIP' } });
    changes += chance < 0.4 ? 1 : 0;
  };
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  for (let start = 0; start < count; start += 20) await Promise.all(names.slice(start, start + 20).map(live));
  return changes;
}

/** Leaks, missing resources, and Services that are neither served nor refused. */
export async function inconsistencies(cluster: TestCluster, cloudName: string, era: Era): Promise<readonly string[]> {
  const cloud = cloudNamed(cloudName);
  assert.ok(cloud);
  const services = (await cluster.user.list(serviceKind, { namespace: 'default' })).items;
  const balancers = new Map((await cluster.balancers()).map((each) => [each.metadata.name, each]));
  const wrong: string[] = [];
  for (const service of services.filter(({ metadata }) => metadata.name !== 'kubernetes')) {
    const found = balancers.get(nameFor(cloudName, service));
    balancers.delete(nameFor(cloudName, service));
    const name = service.metadata.name ?? '';
    if (service.metadata.deletionTimestamp !== undefined) wrong.push(`${name} was not deleted`);
    if (service.spec.type !== 'LoadBalancer') {
      if (found !== undefined || service.metadata.finalizers !== undefined)
        wrong.push(`${name} still has a load balancer or finalizer`);
      continue;
    }
    const desired = plan(cloud, { service, era, isMixingAllowed: true });
    const isRefused = isTrue(service, 'LoadBalancerPortsError');
    if (isRefused !== (desired.refusal !== undefined)) wrong.push(`${name}: the condition is wrong`);
    const [ingress] = service.status.loadBalancer.ingress ?? [];
    if (ingress?.ports?.length !== service.spec.ports?.length) wrong.push(`${name}: the ports are wrong`);
    if (desired.refusal !== undefined) continue; // existing resources stay
    const [is, expected] = [resourcesText(resourcesOf(found)), resourcesText(desired.resources)];
    if (is !== expected) wrong.push(`${name}: ${is} is not ${expected}`);
    if (ingress?.ip !== found?.spec.address) wrong.push(`${name}: the address is wrong`);
  }
  return [...wrong, ...Array.from(balancers.values(), ({ spec }) => `${spec.service.name} leaked`)];
}

/** A canonical text of resources. */
export const resourcesText = (resources: readonly Resource[]): string =>
  resources
    .map((each) => `${keyOfResource(each)} ${(each.serves ?? []).map(portText).join(' ')} ${settingsText(each)}`)
    .toSorted()
    .join('\n');

/** Without nodes, which the compared plan does not have. */
const settingsText = ({ type, settings }: Resource): string =>
  type === 'Backends'
    ? ''
    : JSON.stringify(Object.entries(settings).toSorted(([one], [other]) => (one < other ? -1 : 1)));

const isTrue = ({ status }: Service, type: string): boolean =>
  status.conditions?.some((condition) => condition.type === type && condition.status === 'True') === true;

/** Waits until there are no inconsistencies; fails with them after the deadline. */
async function waitUntilConsistent(
  wrong: () => Promise<readonly string[]>,
  about: string,
  deadlineMs = 30_000,
): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const found = await wrong();
    if (found.length === 0) return;
    if (performance.now() > deadline) return assert.deepEqual(found, [], about);
    await delay(50);
  }
}
