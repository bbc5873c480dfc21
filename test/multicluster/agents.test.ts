// One controller for all clusters, or an agent in each: both lead to the same state, also when they run together.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

import { loadAll } from 'js-yaml';

import type { ClusterRole } from '../../src/api/kinds/rbac/clusterrole/kind.ts';
import { clusterRoleKind } from '../../src/api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../src/api/kinds/rbac/clusterrolebinding/kind.ts';
import { clusterRoleBindingKind } from '../../src/api/kinds/rbac/clusterrolebinding/kind.ts';
import { until } from '../../src/server/testing/until.ts';
import { root } from '../harness/process.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';
import { stoppedClock, untilIdle } from './until-idle.ts';

const reader = 'system:serviceaccount:kube-system:fairlead-multicluster-reader';

/** Grants the reader of the example its rights. */
async function admitReader({ client }: Cluster): Promise<void> {
  const text = await readFile(joinPath(root, 'examples/rbac/multicluster-reader.yaml'), 'utf8');
  const [, role, binding] = loadAll(text);
  // Casts since a file has no types; the server validates the objects.
  await client.create(clusterRoleKind, role as ClusterRole);
  await client.create(clusterRoleBindingKind, binding as ClusterRoleBinding);
}

/** Starts an agent in each of the given clusters; each writes to its own cluster only. */
async function startAgents(clusters: readonly Cluster[], stack: AsyncDisposableStack): Promise<void> {
  for (const own of clusters) {
    const entries = clusters.map((cluster, index) => ({
      ...entryOf(cluster, index),
      ...(cluster === own ? {} : { isReadOnly: true, connect: () => cluster.as(reader) }),
    }));
    await join([own], stack, { clock: stoppedClock, members: (change) => change(entries) }).part.ready;
  }
}

const modes: Readonly<Record<string, (clusters: readonly Cluster[], stack: AsyncDisposableStack) => Promise<void>>> = {
  central: async (clusters, stack) => join(clusters, stack, { clock: stoppedClock }).part.ready,
  agents: startAgents,
  'central and agents at once': async (clusters, stack) => {
    await startAgents(clusters, stack);
    await join(clusters, stack, { clock: stoppedClock }).part.ready;
  },
};

/** The objects of a service in a cluster and the conditions of its export, without random fields. */
async function held(cluster: Cluster, name: string): Promise<unknown> {
  const current = await cluster.serviceImport(name);
  const slices = await cluster.imported(name);
  return {
    cluster: cluster.id,
    imported: (await cluster.importedService(name))?.spec,
    current: current?.spec,
    clusters: current?.status?.clusters,
    slices: slices.map(({ metadata: { name: slice }, endpoints, ports }) => ({ slice, endpoints, ports })),
    supercluster: await cluster.conditions(name, 'supercluster'),
    conditions: await cluster.conditions(name, 'clusterset'),
  };
}

const isExported = async (cluster: Cluster, name: string): Promise<boolean> =>
  (await cluster.conditions(name, 'supercluster'))['Exported'] === 'True' &&
  (await cluster.conditions(name, 'clusterset'))['Ready'] === 'True';

async function three(stack: AsyncDisposableStack): Promise<readonly [Cluster, Cluster, Cluster]> {
  const [east, north, west] = await startClusters(['east', 'north', 'west'], stack);
  assert.ok(east && north && west);
  for (const cluster of [east, north, west]) await admitReader(cluster);
  return [east, north, west];
}

/** The same scenario for every mode; returns the state after each step. */
async function story(mode: string, stack: AsyncDisposableStack): Promise<readonly unknown[]> {
  const clusters = await three(stack);
  const [east, north, west] = clusters;
  await modes[mode]?.(clusters, stack);
  // Two controllers do not write the same object at the same moment.
  const all = async (name: string): Promise<readonly unknown[]> => {
    await untilIdle(clusters, 100);
    return Promise.all(clusters.map((each) => held(each, name)));
  };
  const have = (name: string, want: Record<string, readonly string[]>): Promise<unknown> =>
    until(`${name} is ${JSON.stringify(want)}`, async () => {
      const found = await Promise.all(clusters.map((each) => each.addresses(name)));
      return found.every((each) => isDeepStrictEqual(each, want));
    });
  const steps: unknown[] = [];
  await west.service('web', ['10.3.0.1']);
  await west.export('web');
  await until('the export of west succeeded', () => isExported(west, 'web'));
  await have('web', { west: ['10.3.0.1'] });
  steps.push(await all('web'));
  await delay(1000); // timestamps have a resolution of a second, and equal ones are ordered by id
  await east.service('web', ['10.1.0.1'], { sessionAffinity: 'ClientIP' });
  await east.export('web');
  await have('web', { east: ['10.1.0.1'], west: ['10.3.0.1'] });
  await until(
    'the conflict is reported',
    async () => (await west.conditions('web', 'clusterset'))['Conflict'] === 'True',
  );
  await until('both exports report it', async () => (await isExported(east, 'web')) && (await isExported(west, 'web')));
  steps.push(await all('web'));
  await west.slice('web', ['10.3.0.1', '10.3.0.2']);
  await have('web', { east: ['10.1.0.1'], west: ['10.3.0.1', '10.3.0.2'] });
  await west.unexport('web');
  await have('web', { east: ['10.1.0.1'] });
  await until(
    'the conflict is resolved',
    async () => (await east.conditions('web', 'clusterset'))['Conflict'] === 'False',
  );
  for (const api of ['supercluster', 'clusterset'] as const)
    await until(
      'the export of west is deleted',
      async () => Object.keys(await west.conditions('web', api)).length === 0,
    );
  await until('the export of east remains', () => isExported(east, 'web'));
  steps.push(await all('web'));
  await east.unexport('web');
  for (const each of clusters) {
    await until('the import is deleted', async () => (await each.importedService('web')) === undefined);
    await until('its slices are deleted', async () => (await each.imported('web')).length === 0);
  }
  await north.service('api', ['10.2.0.1']);
  await north.export('api');
  await until('the export of north succeeded', () => isExported(north, 'api'));
  steps.push(await all('api'));
  return steps;
}

describe('an agent in each cluster', () => {
  test('produces the same objects as one controller for all, and so do both together', async () => {
    await using reference = new AsyncDisposableStack();
    const expected = await story('central', reference);
    for (const mode of ['agents', 'central and agents at once']) {
      await using stack = new AsyncDisposableStack();
      assert.deepEqual(await story(mode, stack), expected, mode);
    }
  });

  for (const mode of ['agents', 'central and agents at once']) {
    test(`${mode}: the clusters agree on the order of exporters, and writes end`, async () => {
      await using stack = new AsyncDisposableStack();
      const clusters = await three(stack);
      await modes[mode]?.(clusters, stack);
      for (const cluster of clusters) await cluster.service('web', ['10.1.0.1']);
      await Promise.all(clusters.map((cluster) => cluster.export('web')));
      for (const cluster of clusters) await until('the export succeeded', () => isExported(cluster, 'web'));
      const orders = async (): Promise<readonly string[]> =>
        Promise.all(
          clusters.map(async (each) => JSON.stringify((await each.serviceImport('web'))?.status?.clusters ?? [])),
        );
      await until('all clusters have one order', async () => {
        const found = await orders();
        return new Set(found).size === 1 && found[0]?.includes('west') && found[0].includes('north');
      });
      await untilIdle(clusters, 500);
    });
  }

  test('MCS-23 exports name an agent that does not answer, until it answers again', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, north, west] = await three(stack);
    const entries = (own: Cluster) =>
      [east, north, west].map((cluster, index) => ({ ...entryOf(cluster, index), isReadOnly: cluster !== own }));
    for (const own of [east, north]) await join([own], stack, { members: (change) => change(entries(own)) }).part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('north imports it', async () => (await north.imported('web')).length === 1);
    await until('west is missing', async () => (await east.conditions('web', 'supercluster'))['Exported'] === 'False');
    assert.equal(await west.serviceImport('web'), undefined);
    join([west], stack, { members: (change) => change(entries(west)) });
    await until('west imports it', () => isExported(east, 'web'));
    assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
  });
});
