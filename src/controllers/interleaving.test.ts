import assert from 'node:assert/strict';
import { test } from 'node:test';

import fc from 'fast-check';

import { failure } from '../api/errors.ts';
import { gatesWith } from '../api/gates.ts';
import { nodeKind } from '../api/kinds/core/node/kind.ts';
import { podKind } from '../api/kinds/core/pod/kind.ts';
import { serviceKind } from '../api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../api/kinds/discovery/endpointslice/kind.ts';
import { inProcess } from '../client/in-process.ts';
import { FaultyTransport } from '../client/testing/faulty.ts';
import type { ApiRequest } from '../client/transport.ts';
import { testServer } from '../server/testing/server.ts';
import { plan as planEndpoints } from './endpoints/plan.ts';
import { plan as planSlices } from './endpointslice/plan.ts';
import { TestCluster } from './testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };

type Step =
  | { readonly do: 'pod'; readonly pod: number; readonly app: string; readonly ready: boolean }
  | { readonly do: 'unpod'; readonly pod: number }
  | { readonly do: 'service' | 'unservice' | 'retarget'; readonly app: string }
  | { readonly do: 'node' | 'unnode' }
  | { readonly do: 'meddle'; readonly app: string }
  | { readonly do: 'drop' | 'forget' | 'conflict' | 'wait' };

const app = fc.constantFrom('a', 'b');
const pod = fc.integer({ min: 0, max: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('pod' as const), pod, app, ready: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('unpod' as const), pod }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('service' as const, 'unservice' as const, 'retarget' as const), app }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('node' as const, 'unnode' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('meddle' as const), app }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constantFrom('drop' as const, 'forget' as const, 'conflict' as const, 'wait' as const),
    }),
  },
);

/** Fails some writes with a conflict, and aborts some after the server has executed them. */
class WriteFaults {
  conflicts = 0;
  readonly injectFault = ({ method, path }: ApiRequest): void => {
    if (this.conflicts === 0 || method === 'GET' || !/endpoint/.test(path)) return;
    this.conflicts--;
    throw failure({ code: 409, reason: 'Conflict', message: 'the object has been modified' });
  };
}

const ignore = async (work: Promise<unknown>): Promise<void> => {
  // Ignores steps whose object is missing or exists already.
  await work.catch(() => undefined);
};

async function take(step: Step, cluster: TestCluster, { faults, transports }: Chaos): Promise<void> {
  switch (step.do) {
    case 'pod': {
      const state = { ip: `10.1.0.${step.pod + 1}`, ready: step.ready, node: step.pod === 0 ? 'n1' : '' };
      const name = `p${step.pod}`;
      await ignore(cluster.pod(name, step.app, state));
      const found = await cluster.user.find(podKind, { namespace: 'default', name });
      if (found === undefined) return;
      await ignore(cluster.setReady(found, state));
      const body = { metadata: { labels: { app: step.app } } };
      return ignore(cluster.user.patch(podKind, { namespace: 'default', name }, { body }));
    }
    case 'unpod':
      return cluster.user.delete(podKind, { namespace: 'default', name: `p${step.pod}` }, { gracePeriodSeconds: 0 });
    case 'service':
      return ignore(cluster.service(step.app));
    case 'unservice':
      return cluster.user.delete(serviceKind, { namespace: 'default', name: step.app });
    case 'retarget': {
      const body = { spec: { selector: { app: step.app === 'a' ? 'b' : 'a' } } };
      return ignore(cluster.user.patch(serviceKind, { namespace: 'default', name: step.app }, { body }));
    }
    case 'node':
      return ignore(cluster.node('n1', 'east'));
    case 'unnode':
      return cluster.user.delete(nodeKind, { name: 'n1' });
    case 'meddle': {
      const [slice] = await cluster.slices(step.app);
      if (slice === undefined) return;
      return ignore(cluster.user.update(endpointSliceKind, { ...slice, endpoints: [] }));
    }
    case 'drop':
      for (const transport of transports) transport.inject('cut');
      return;
    case 'forget':
      for (const transport of transports) transport.inject('expire');
      return;
    case 'conflict':
      faults.conflicts += 2;
      return;
    case 'wait':
      await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

interface Chaos {
  readonly faults: WriteFaults;
  readonly transports: readonly FaultyTransport[];
}

/** Plans over the state of the server; empty when it has converged. */
async function leftToDo(cluster: TestCluster): Promise<readonly string[]> {
  const gates = gatesWith();
  const { items: services } = await cluster.user.list(serviceKind, { namespace: 'default' });
  const { items: pods } = await cluster.user.list(podKind, { namespace: 'default' });
  const nodes = new Map(
    (await cluster.user.list(nodeKind)).items.map((node) => [node.metadata.name ?? '', node] as const),
  );
  const { items: slices } = await cluster.user.list(endpointSliceKind, { namespace: 'default' });
  const named = new Set(services.map(({ metadata }) => metadata.name));
  const left = [];
  for (const service of services) {
    const name = service.metadata.name ?? '';
    const planned = planSlices({ service, pods, nodes, slices, gates });
    const endpoints = await cluster.endpoints(name);
    const other = planEndpoints({ service, pods, endpoints, gates });
    for (const [what, { create, update, remove }] of [['slices', planned] as const, ['endpoints', other] as const]) {
      const counts = [create.length, update.length, remove.length];
      if (counts.some((count) => count > 0)) left.push(`${what} of ${name}: ${counts.join(' ')}`);
    }
  }
  for (const { metadata } of slices) {
    const name = metadata.labels?.['kubernetes.io/service-name'];
    if (!named.has(name)) left.push(`${metadata.name} is left of ${name}`);
  }
  return left;
}

async function holds(steps: readonly Step[]): Promise<void> {
  await using server = await testServer();
  const transports: FaultyTransport[] = [];
  const cluster = new TestCluster(() => {
    const transport = new FaultyTransport(inProcess((request) => server.handle({ ...request, user })));
    transports.push(transport);
    return transport;
  });
  const faults = new WriteFaults();
  await cluster.service('a');
  await using running = cluster.start({}, { injectFault: faults.injectFault });
  // The first transport belongs to the user and has no faults.
  const chaos = { faults, transports: transports.slice(1) };
  for (const each of steps) await take(each, cluster, chaos);
  await running.ready;
  const deadline = performance.now() + 15_000;
  let left = await leftToDo(cluster);
  while (left.length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    left = await leftToDo(cluster);
  }
  assert.deepEqual(left, []);
}

test('converges after any sequence of changes, dropped watches, expired revisions and conflicts', async () => {
  const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), holds);
  await fc.assert(property, { numRuns: 12 });
});
