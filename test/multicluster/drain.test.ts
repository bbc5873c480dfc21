// Traffic that moves away from a draining cluster, and returns.

import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join as joinPath } from 'node:path';
import { describe, test } from 'node:test';

import { pino } from 'pino';
import { Registry } from 'prom-client';

import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { managedByLabel, serviceNameLabel } from '../../src/api/kinds/discovery/endpointslice/labels.ts';
import { clusterMemberKind } from '../../src/api/kinds/multicluster/clustermember/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { followMembers, readMembers } from '../../src/cli/mcs/follow-members.ts';
import { run } from '../../src/cli/run.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { MulticlusterOptions } from '../../src/multicluster/multicluster.ts';
import { startMulticluster } from '../../src/multicluster/multicluster.ts';
import { until } from '../../src/server/testing/until.ts';
import { temporaryDirectory } from '../harness/fairlead.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, quickProbes, startClusters } from './clusters.ts';
import { startWithKubeconfig } from './started.ts';

/** Source cluster → `ready` or `last resort`, of the imported endpoints of `web`. */
async function stateIn(client: Client): Promise<Record<string, string>> {
  const labelSelector = 'multicluster.kubernetes.io/service-name=web';
  const { items } = await client.list(endpointSliceKind, { namespace: 'shop', labelSelector });
  return Object.fromEntries(
    items.map(({ metadata, endpoints }) => {
      const { ready, serving, terminating } = endpoints?.[0]?.conditions ?? {};
      const state = ready === true ? 'ready' : serving === true && terminating === true ? 'last resort' : 'down';
      return [metadata.labels?.['multicluster.kubernetes.io/source-cluster'] ?? '', state];
    }),
  );
}

const shows = (what: string, { client }: { readonly client: Client }, want: Record<string, string>): Promise<unknown> =>
  until(what, async () => JSON.stringify(await stateIn(client), Object.keys(want)) === JSON.stringify(want));

test('a drain never takes the last ready endpoints away, and ends where others do not answer', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'north', 'west'], stack);
  const [east, north, west] = clusters;
  assert.ok(east && north && west);
  let drain: (ids: readonly string[]) => void = () => assert.fail('not started');
  const entries = (ids: readonly string[]) =>
    clusters.map((cluster, index) => ({ ...entryOf(cluster, index), isDraining: ids.includes(cluster.id) }));
  const joined = join(clusters, stack, {
    members(change) {
      change(entries([]));
      drain = (ids) => change(entries(ids));
    },
  });
  await joined.part.ready;
  for (const [cluster, address] of [
    [east, '10.1.0.1'],
    [west, '10.3.0.1'],
  ] as const) {
    await cluster.service('web', [address]);
    await cluster.export('web');
  }
  await shows('north uses both', north, { east: 'ready', west: 'ready' });

  drain(['east']);
  await shows('north avoids east', north, { east: 'last resort', west: 'ready' });
  await shows('so does west', west, { east: 'last resort', west: 'ready' });
  await shows('east uses its own', east, { east: 'ready', west: 'ready' });

  const setReady = async (cluster: Cluster, ready: boolean): Promise<void> => {
    const slice = await cluster.client.get(endpointSliceKind, { namespace: 'shop', name: 'web-abc' });
    const endpoints = (slice.endpoints ?? []).map((each) => ({ ...each, conditions: { ready } }));
    await cluster.client.update(endpointSliceKind, { ...slice, endpoints });
  };
  await setReady(west, false);
  await shows('the last ready ones are used again', north, { east: 'ready', west: 'down' });
  await setReady(west, true);
  await shows('north avoids east again', north, { east: 'last resort', west: 'ready' });

  west.disconnect();
  await shows('east replaces a cluster that does not answer', north, { east: 'ready' });
  west.reconnect();
  await shows('north avoids east again after it returns', north, { east: 'last resort', west: 'ready' });

  drain(['east', 'west']);
  await shows('no drain takes all endpoints', north, { east: 'ready', west: 'ready' });
  drain([]);
  await shows('both are used', north, { east: 'ready', west: 'ready' });
});

interface Result {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Clusters `east` and `west` on loopback with one kubeconfig, and the service `web` in both. */
async function pair(stack: AsyncDisposableStack) {
  const directory = stack.use(await temporaryDirectory()).path;
  const kubeconfig = joinPath(directory, 'kubeconfig');
  await startWithKubeconfig(['east', 'west'], kubeconfig, stack);
  const connect = async (context: string): Promise<Client> =>
    stack.use(new Client(overHttps(await readKubeconfig({ paths: [kubeconfig], context }))));
  const [east, west] = [await connect('east'), await connect('west')];
  for (const [client, address] of [
    [east, '10.1.0.1'],
    [west, '10.2.0.1'],
  ] as const) {
    await client.create(namespaceKind, { metadata: { name: 'shop' }, spec: {}, status: {} });
    const metadata = { namespace: 'shop', name: 'web' };
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const }];
    await client.create(serviceKind, { metadata, spec: { ports }, status: { loadBalancer: {} } });
    await client.create(endpointSliceKind, {
      metadata: { namespace: 'shop', name: 'web-abc', labels: { [serviceNameLabel]: 'web', [managedByLabel]: 'test' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: 'http', protocol: 'TCP', port: 8080 }],
    });
    await client.create(superclusterExportKind, { metadata });
  }
  const mcs = async (...args: readonly string[]): Promise<Result> => {
    const printed: Record<'out' | 'err', string[]> = { out: [], err: [] };
    const streams = { out: (text: string) => printed.out.push(text), err: (text: string) => printed.err.push(text) };
    const code = await run(['mcs', ...args], streams);
    return { code, out: printed.out.join(''), err: printed.err.join('') };
  };
  const start = async (options: MulticlusterOptions): Promise<AsyncDisposable> => {
    const client = new Client(overHttps(await readKubeconfig({ paths: [kubeconfig], context: 'west' })));
    const context = { client, log: pino({ level: 'silent' }), metrics: new Registry() };
    const part = startMulticluster(context, { probeTimes: quickProbes, ...options });
    await part.ready;
    return part;
  };
  return { directory, kubeconfig, east: { client: east }, west: { client: west }, mcs, start };
}

describe('fairlead mcs drain', () => {
  test('of a ClusterMember survives a restart of the controller, and is reported', async () => {
    await using stack = new AsyncDisposableStack();
    const { kubeconfig, east, west, mcs, start } = await pair(stack);
    const namespace = 'fairlead-system';
    const hub = ['--kubeconfig', kubeconfig, '--hub', 'west'];
    const objects = { objects: { namespace, userAgent: 'test' } };
    for (const id of ['east', 'west']) assert.equal((await mcs('join', id, ...hub)).code, 0);
    const drained = async (): Promise<string> => {
      const { status } = await west.client.get(clusterMemberKind, { namespace, name: 'east' });
      return status?.conditions?.find(({ type }) => type === 'Drained')?.reason ?? '';
    };
    {
      await using _ = await start(objects);
      await shows('west uses both', west, { east: 'ready', west: 'ready' });
      assert.deepEqual(await mcs('drain', 'east', ...hub), {
        code: 0,
        out: 'east is drained: other clusters use its endpoints only if no others are ready\n',
        err: '',
      });
      await shows('west avoids east', west, { east: 'last resort', west: 'ready' });
      await shows('east uses its own', east, { east: 'ready', west: 'ready' });
      await until('the condition is True', async () => (await drained()) === 'Drained');
      await until('an Event reports it', async () =>
        (await west.client.list(eventKind, { namespace })).items.some(
          ({ reason, involvedObject }) => reason === 'Drained' && involvedObject.name === 'east',
        ),
      );
      const list = await mcs('list', ...hub);
      assert.match(list.out, /^east +draining +other clusters use its endpoints only if no others are ready$/m);
      assert.match((await mcs('status', ...hub)).out, /^cluster east drains: other clusters use its endpoints only/m);
    }
    {
      await using _ = await start(objects);
      await west.client.delete(superclusterExportKind, { namespace: 'shop', name: 'web' });
      await shows('the last ready endpoints return', west, { east: 'ready' });
      await until('the condition names it', async () => (await drained()) === 'LastEndpoints');
      assert.match(
        (await mcs('list', ...hub)).out,
        /^east +draining +no other cluster has ready endpoints of shop\/web,/m,
      );
      assert.match((await mcs('drain', 'east', ...hub)).out, /^east is drained: no other cluster has ready endpoints/);
      await west.client.create(superclusterExportKind, { metadata: { namespace: 'shop', name: 'web' } });
      await shows('west avoids east after a restart', west, { east: 'last resort', west: 'ready' });
      assert.equal(
        (await mcs('undrain', 'east', ...hub)).out,
        'east does not drain: other clusters use its endpoints again\n',
      );
      await shows('west uses both again', west, { east: 'ready', west: 'ready' });
      await until('the condition is False', async () => (await drained()) === 'NotDraining');
    }
    const unknown = await mcs('drain', 'north', ...hub);
    assert.deepEqual([unknown.code, unknown.out], [1, '']);
    assert.match(unknown.err, /"north" is not a member: namespace fairlead-system has east, west/);
  });

  test('of a member in a file is written there, and reports a controller that does not act', async () => {
    await using stack = new AsyncDisposableStack();
    const { directory, kubeconfig, west, mcs, start } = await pair(stack);
    const path = joinPath(directory, 'members.yaml');
    const members = ['east', 'west'].map((id) => ({ id, context: id, kubeconfig }));
    await writeFile(path, JSON.stringify({ members }));
    {
      const first = await readMembers(path);
      await using _ = await start({
        members: (change, signal) =>
          void followMembers({ path, first, log: pino({ level: 'silent' }), everyMs: 50 }, change, signal),
      });
      await shows('west uses both', west, { east: 'ready', west: 'ready' });
      assert.equal((await mcs('drain', 'east', '--members', path)).code, 0);
      await shows('west avoids east', west, { east: 'last resort', west: 'ready' });
      assert.match(await readFile(path, 'utf8'), /draining: true/);
      assert.equal((await mcs('undrain', 'east', '--members', path)).code, 0);
      await shows('west uses both again', west, { east: 'ready', west: 'ready' });
      assert.doesNotMatch(await readFile(path, 'utf8'), /draining/);
    }
    const { code, err } = await mcs('drain', 'east', '--members', path, '--timeout', '1s');
    assert.equal(code, 1);
    assert.match(
      err,
      /east drains, and other clusters still use its endpoints of shop\/web: check that `fairlead multicluster` runs/,
    );
  });
});
