// Random changes and faults in any order: afterwards every cluster has the state of the exports.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { failure } from '../../src/api/errors.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { hasStatusCode } from '../../src/client/transport.ts';
import type { Cluster } from './clusters.ts';
import { join, startClusters } from './clusters.ts';
import { differences } from './differences.ts';

const names = ['a', 'b', 'c'];

/** A pseudo-random generator with a seed. */
function chance(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

type Step = (cluster: Cluster, name: string, pick: (below: number) => number) => Promise<void>;

const steps: readonly Step[] = [
  async (cluster, name, pick) => {
    const port = pick(4) === 0 ? 81 : 80;
    await cluster.service(name, [`10.1.0.${pick(200) + 1}`], { ports: [{ name: 'http', port, protocol: 'TCP' }] });
  },
  async (cluster, name, pick) => cluster.slice(name, [`10.1.0.${pick(200) + 1}`]),
  async (cluster, name, pick) => cluster.slice(name, [`10.1.1.${pick(200) + 1}`], `${name}-more`),
  async (cluster, name) => cluster.export(name),
  async (cluster, name) => cluster.export(name, ['clusterset']),
  async (cluster, name) => cluster.export(name, ['supercluster']),
  async (cluster, name) => cluster.unexport(name),
  async ({ client }, name) => client.delete(superclusterExportKind, { namespace: 'shop', name }),
  async ({ client }, name) => client.delete(serviceExportKind, { namespace: 'shop', name }),
  async ({ client }, name) => client.delete(serviceKind, { namespace: 'shop', name }),
  async ({ client }, name) => client.delete(endpointSliceKind, { namespace: 'shop', name: `${name}-abc` }),
  async ({ client }, name) => {
    const body = { spec: { ports: [{ name: 'http', port: 80, protocol: 'TCP' }] } };
    await client.patch(serviceKind, { namespace: 'shop', name }, { body });
  },
  async (cluster) => {
    if ((await cluster.client.find(namespaceKind, { name: 'shop' })) === undefined) await cluster.namespace('shop');
  },
  async (cluster) => cluster.disconnect(),
  async (cluster) => cluster.reconnect(),
  async (cluster, _, pick) => {
    cluster.fault = ({ method }) => {
      if (method !== 'GET' && pick(3) === 0)
        throw failure({ code: 503, reason: 'ServiceUnavailable', message: 'busy' });
    };
  },
  async (cluster, _, pick) => {
    cluster.faultAfter = ({ method }) => {
      if (method !== 'GET' && pick(3) === 0) throw new Error('the answer was lost');
    };
  },
  async () => delay(30),
];

/** A change that is invalid in the current state is ignored. */
async function attempt(step: Promise<void>): Promise<void> {
  try {
    await step;
  } catch (error) {
    if (![400, 403, 404, 409, 422].some((code) => hasStatusCode(error, code))) throw error;
  }
}

describe('random walks', () => {
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`converge to the state of the exports, walk ${seed}`, async () => {
      await using stack = new AsyncDisposableStack();
      const clusters = await startClusters(['east', 'west', 'north'], stack);
      const pick = chance(seed);
      let controller = stack.use(new AsyncDisposableStack());
      join(clusters, controller);
      for (let count = 0; count < 60; count++) {
        const cluster = clusters[pick(clusters.length)] ?? assert.fail();
        await attempt((steps[pick(steps.length)] ?? assert.fail())(cluster, names[pick(names.length)] ?? '', pick));
        if (pick(15) !== 0) continue;
        await controller.disposeAsync();
        controller = stack.use(new AsyncDisposableStack());
        join(clusters, controller);
      }
      for (const cluster of clusters) {
        cluster.reconnect();
        cluster.faultAfter = () => undefined;
      }
      let left: readonly string[] = [];
      for (const end = performance.now() + 60_000; performance.now() < end; await delay(100)) {
        left = await differences(clusters, names);
        if (left.length === 0) return;
      }
      assert.deepEqual(left, []);
    });
  }
});
