// Exports that only some clusters import.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { publicationAnnotation } from '../../src/api/kinds/multicluster/publication.ts';
import { showExplanation, showPlan, showWhy } from '../../src/cli/mcs/show.ts';
import { showStatus } from '../../src/cli/mcs/status.ts';
import type { MemberEntry } from '../../src/multicluster/inspect.ts';
import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';

const web = { namespace: 'shop', name: 'web' };
const audience = 'fairlead.dev/audience';

const tiers: Readonly<Record<string, string>> = { east: 'prod', west: 'prod', north: 'test' };

const labelled = (clusters: readonly Cluster[], changed: Readonly<Record<string, string>> = {}): MemberEntry[] =>
  clusters.map((cluster, index) => ({
    ...entryOf(cluster, index),
    labels: { tier: changed[cluster.id] ?? tiers[cluster.id] ?? '' },
  }));

/** Three joined clusters; `relabel` changes the label `tier` of members. */
async function three(stack: AsyncDisposableStack) {
  const clusters = await startClusters(['east', 'west', 'north'], stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  let relabel: (changed: Readonly<Record<string, string>>) => void = () => assert.fail('not started');
  const joined = join(clusters, stack, {
    members(change) {
      change(labelled(clusters));
      relabel = (changed) => change(labelled(clusters, changed));
    },
  });
  await joined.part.ready;
  return { clusters, east, west, north, relabel: (changed: Readonly<Record<string, string>>) => relabel(changed) };
}

/** Sets the audience of an export in both APIs; null removes it. */
async function setAudience({ client }: Cluster, value: string | null): Promise<void> {
  const body = { metadata: { annotations: { [audience]: value } } };
  await client.patch(serviceExportKind, web, { body });
  await client.patch(superclusterExportKind, web, { body });
}

async function exportTo(cluster: Cluster, addresses: readonly string[], value: string): Promise<void> {
  await cluster.service('web', addresses);
  const metadata = { ...web, annotations: { [audience]: value } };
  await cluster.client.create(superclusterExportKind, { metadata });
  await cluster.client.create(serviceExportKind, { metadata, spec: {} });
}

const sourcesIn = async (cluster: Cluster): Promise<string> =>
  Object.keys(await cluster.addresses('web'))
    .toSorted()
    .join();

const holdsNothing = async (cluster: Cluster): Promise<boolean> =>
  (await cluster.importedService('web')) === undefined &&
  (await cluster.serviceImport('web')) === undefined &&
  (await cluster.imported('web')).length === 0;

const condition = async (cluster: Cluster, type: string) => {
  const [one, other] = await Promise.all([
    cluster.client.get(superclusterExportKind, web),
    cluster.client.get(serviceExportKind, web),
  ]);
  return [...(one.status?.conditions ?? []), ...(other.status?.conditions ?? [])].find((each) => each.type === type);
};

describe('the audience of an export', () => {
  test('only its clusters import the service, and a change is a withdrawal from the others', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'tier=prod');
    await until('west imports it', async () => (await sourcesIn(west)) === 'east');
    await until('the export is complete', async () => (await condition(east, 'Exported'))?.status === 'True');
    assert.equal(await sourcesIn(east), 'east', 'a cluster is in the audience of its own export');
    assert.ok(await holdsNothing(north));
    for (const type of ['Exported', 'Ready'])
      await until(`${type} names north`, async () =>
        ((await condition(east, type))?.message ?? '').endsWith('except north, which is not in its audience'),
      );

    await setAudience(east, 'north');
    await until('north imports it', async () => (await sourcesIn(north)) === 'east');
    await until('west holds nothing', () => holdsNothing(west));
    await until('the condition names west', async () =>
      /except west,/.test((await condition(east, 'Exported'))?.message ?? ''),
    );

    await setAudience(east, null);
    await until('all import it', async () => (await sourcesIn(west)) === 'east' && (await sourcesIn(north)) === 'east');
    await east.unexport('web');
    await until('all hold nothing', async () => (await holdsNothing(west)) && (await holdsNothing(north)));
    await until('the export is gone', async () => (await east.client.find(serviceExportKind, web)) === undefined);
  });

  test('a label of a member moves it into and out of an audience, without reading the member again', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north, relabel } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'tier=prod');
    await until('west imports it', async () => (await sourcesIn(west)) === 'east');
    let lists = 0;
    north.fault = ({ method, path }) => void (method === 'GET' && path.endsWith('/endpointslices') && lists++);
    relabel({ north: 'prod', west: 'test' });
    await until('north imports it', async () => (await sourcesIn(north)) === 'east');
    await until('west holds nothing', () => holdsNothing(west));
    assert.equal(lists, 0);
  });

  test('each cluster imports the merge of the exports that include it, with its conflicts only', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north, clusters } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'north');
    await until('north imports it', async () => (await sourcesIn(north)) === 'east');
    await exportTo(west, ['10.2.0.1'], 'east');
    await until('east imports both', async () => (await sourcesIn(east)) === 'east,west');
    assert.equal(await sourcesIn(north), 'east');
    await until('west imports its own', async () => (await sourcesIn(west)) === 'west');

    // The conflict is in east, which imports both.
    const service = await west.client.get(serviceKind, web);
    const ports = [{ name: 'http', port: 81, protocol: 'TCP' as const }];
    await west.client.update(serviceKind, { ...service, spec: { ...service.spec, ports } });
    for (const cluster of [east, west]) {
      await until(
        `${cluster.id} has a conflict`,
        async () => (await condition(cluster, 'Conflict'))?.status === 'True',
      );
      await until(`${cluster.id} is withdrawn`, async () =>
        /withdrawn from east until/.test((await condition(cluster, 'Exported'))?.message ?? ''),
      );
    }
    await until('it is withdrawn from east', async () => (await east.importedService('web')) === undefined);
    assert.ok(await north.importedService('web'));
    assert.ok(await west.importedService('web'));
    await using snapshot = await takeSnapshot(labelled(clusters), { conflictPolicy: 'Withdraw' });
    const text = showExplanation(snapshot, 'shop/web').lines.join('\n');
    assert.match(text, /^ {2}east +merged +since \S+ +to north$/m);
    assert.match(text, /ImportedService in east +withdrawn/);
    assert.match(text, /ImportedService in north +with an address: http 80\/TCP from east$/m);
    assert.match(text, /ImportedService in west +with an address: http 81\/TCP from west$/m);
  });

  test('clusters outside of it get no public name', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await three(stack);
    await east.service('web', ['10.1.0.1']);
    await east.client.patch(serviceKind, web, {
      body: { metadata: { annotations: { 'fairlead.dev/hostname': 'web.example.org' } } },
    });
    await east.export('web');
    await until('all import it', async () => (await sourcesIn(north)) === 'east' && (await sourcesIn(west)) === 'east');
    const published = async (cluster: Cluster): Promise<boolean> =>
      (await cluster.serviceImport('web'))?.metadata.annotations?.[publicationAnnotation] !== undefined;
    await until('west publishes it', () => published(west));
    await setAudience(east, 'west');
    await north.service('web', ['10.3.0.1']);
    await north.export('web');
    await until('north has its own', async () => (await sourcesIn(north)) === 'north');
    await until('north publishes nothing', async () => !(await published(north)));
    assert.ok(await published(west));
  });

  test('an invalid audience exports to no other cluster, and the condition has the fix', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'tier==(prod');
    for (const type of ['Initialized', 'Exported', 'Valid', 'Ready'])
      await until(`${type} is False`, async () => (await condition(east, type))?.status === 'False');
    const { reason, message } = (await condition(east, 'Initialized')) ?? {};
    assert.equal(reason, 'InvalidAudience');
    assert.match(
      message ?? '',
      /^no other cluster imports the service: annotation fairlead\.dev\/audience is invalid: /,
    );
    assert.match(message ?? '', /write ids of members and selectors of their labels, such as "east, west; tier=prod"$/);
    await until('its own cluster imports it', async () => (await sourcesIn(east)) === 'east');
    assert.ok((await holdsNothing(west)) && (await holdsNothing(north)));
    await until('an Event reports it', async () =>
      (await east.client.list(eventKind, { namespace: 'shop' })).items.some(
        (each) => each.reason === 'InvalidAudience',
      ),
    );
    await setAudience(east, 'west');
    await until('it is accepted', async () => (await condition(east, 'Initialized'))?.status === 'True');
    await until('west imports it', async () => (await sourcesIn(west)) === 'east');
  });

  test('an unknown member in it is reported, and the others import the service', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, north } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'west, nort');
    await until('it is reported', async () => (await condition(east, 'Exported'))?.reason === 'UnknownMember');
    assert.match(
      (await condition(east, 'Exported'))?.message ?? '',
      /names cluster nort, which is not a member of the set/,
    );
    await until('west imports it', async () => (await sourcesIn(west)) === 'east');
    assert.ok(await holdsNothing(north));
    await setAudience(east, 'west, north');
    await until('it is complete', async () => (await condition(east, 'Exported'))?.status === 'True');
    assert.equal(await sourcesIn(north), 'east');
  });

  test('status, why and plan show it', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, north, west, clusters } = await three(stack);
    await exportTo(east, ['10.1.0.1'], 'west');
    await until('west imports it', async () => (await sourcesIn(west)) === 'east');
    await west.service('web', ['10.2.0.1']);
    await until('all is written', async () => {
      await using snapshot = await takeSnapshot(labelled(clusters), { conflictPolicy: 'Withdraw' });
      return showStatus(snapshot, 'shop/web').isWell;
    });
    await using snapshot = await takeSnapshot(labelled(clusters), { conflictPolicy: 'Withdraw' });
    const status = showStatus(snapshot, 'shop/web');
    assert.match(status.lines.join('\n'), /^shop\/web +north +- +- +0\/0 +not in the audience of east$/m);
    assert.match(status.lines.join('\n'), /^shop\/web of east is exported to west$/m);
    assert.match(JSON.stringify(status.value), /"cluster":"north"[^}]*"hiddenFrom":\["east"\]/);

    const question = { api: 'clusterset', dnsOf: () => undefined } as const;
    const missing = await showWhy(snapshot, 'shop/web', { ...question, from: north.id });
    assert.equal(missing.isWell, false);
    assert.match(
      missing.lines.join('\n'),
      /broken +audience +north is not in the audience of the export of east \("west"\)/,
    );
    const there = await showWhy(snapshot, 'shop/web', { ...question, from: west.id });
    assert.match(there.lines.join('\n'), /ok +audience +west may import what east exports/);

    const plan = showPlan(snapshot, 'shop/web', { verb: 'export', cluster: 'west', audience: 'east' });
    assert.match(plan.lines.join('\n'), /^ {2}north +not in the audience of east and west/m);
    assert.match(plan.lines.join('\n'), /^ {2}east .* slices: 2 /m);
    const invalid = showPlan(snapshot, 'shop/web', { verb: 'export', cluster: 'west', audience: 'a b' });
    assert.equal(invalid.isWell, false);
    assert.match(
      invalid.lines.join('\n'),
      /nothing would be exported: no other cluster imports the service: annotation/,
    );
  });
});
