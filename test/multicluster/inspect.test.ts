// `fairlead mcs list`, `status` and `why` of sets with broken members.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { clusterIdProperty, clusterPropertyKind } from '../../src/api/kinds/about/clusterproperty/kind.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { failure } from '../../src/api/errors.ts';
import { list } from '../../src/cli/mcs/membership.ts';
import { showExplanation, showWhy } from '../../src/cli/mcs/show.ts';
import type { CommandOutput } from '../../src/cli/mcs/show.ts';
import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { showStatus } from '../../src/cli/mcs/status.ts';
import { leaseName, leaseNamespace } from '../../src/multicluster/lease/lease.ts';
import type { MemberEntry } from '../../src/multicluster/member/entry.ts';
import { until } from '../../src/server/testing/until.ts';
import { entryOf, join, startClusters } from './clusters.ts';

const inspect = async (entries: readonly MemberEntry[]): Promise<{ list: CommandOutput; status: CommandOutput }> => {
  await using snapshot = await takeSnapshot(entries, { conflictPolicy: 'Withdraw' });
  return { list: list(snapshot), status: showStatus(snapshot, undefined) };
};

test('list and status name the CRDs that a member lacks, and the command that installs them', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [, west] = clusters;
  assert.ok(west);
  west.fault = ({ path }) => {
    if (path.startsWith('/apis/multicluster')) throw failure({ code: 404, reason: 'NotFound', message: 'not found' });
  };
  const startedAt = performance.now();
  const { list: listed, status } = await inspect(clusters.map(entryOf));
  assert.ok(performance.now() - startedAt < 4000, 'does not wait for CRDs');
  const problem =
    'cluster west serves neither kind of ServiceExport: install the CRDs there with `kubectl apply -f examples/multicluster/definitions.yaml`';
  assert.equal(listed.lines.at(-1), `west  not readable  ${problem}`);
  assert.equal(status.lines.at(-1), problem);
  const { part } = join(clusters, stack);
  await until('the controller reports it too', () => part.problems().includes(problem));
});

test('a member whose CRDs are deleted is reported at once, and is read again when they are back', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  const { part, metrics } = join(clusters, stack);
  await part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  const exported = async (): Promise<string | undefined> =>
    (await east.client.find(superclusterExportKind, { namespace: 'shop', name: 'web' }))?.status?.conditions?.find(
      ({ type }) => type === 'Exported',
    )?.message;
  await until('it is exported', async () => (await exported()) === 'all clusters have the service');
  west.fault = ({ path }) => {
    if (path.startsWith('/apis/multicluster')) throw failure({ code: 404, reason: 'NotFound', message: 'not found' });
  };
  west.breakConnections();
  const problem = /^cluster west serves neither kind of ServiceExport: install the CRDs there with /;
  const connected = async (): Promise<number | undefined> =>
    (await metrics.getSingleMetric('fairlead_multicluster_member_connected')?.get())?.values.find(
      ({ labels }) => labels['cluster'] === 'west',
    )?.value;
  await until('the controller reports it', () => part.problems().some((each) => problem.test(each)));
  await until('the metric has changed', async () => (await connected()) === 0);
  await until('the export reports it', async () => problem.test((await exported()) ?? ''));
  west.reconnect();
  await until('it is read again', () => part.problems().length === 0);
  await until('the export is complete again', async () => (await exported()) === 'all clusters have the service');
  assert.deepEqual(await west.addresses('web'), { east: ['10.1.0.1'] });
});

test('a member that answers slowly is read to the end', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [, west] = clusters;
  assert.ok(west);
  west.fault = ({ path }) => delay(path.endsWith('/kube-system') ? 2100 : 1500);
  const { list: listed } = await inspect(clusters.map(entryOf));
  assert.match(listed.lines.at(-1) ?? '', /^west {2}slow +cluster west answers slowly: the last probe took \d+\.\d s$/);
});

test('a cluster that has another id itself is rejected, and the exports of others name it', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  await west.client.create(clusterPropertyKind, { metadata: { name: clusterIdProperty }, spec: { value: 'other' } });
  const { part } = join(clusters, stack);
  await part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('the export names it', async () => {
    const found = await east.client.find(serviceExportKind, { namespace: 'shop', name: 'web' });
    const ready = found?.status?.conditions?.find(({ type }) => type === 'Ready');
    return ready?.message?.endsWith('except west, which the controller rejects (see `fairlead mcs list`)') === true;
  });
  const { list: listed, status } = await inspect(clusters.map(entryOf));
  const reason =
    /cluster west has the id other \(ClusterProperty cluster\.clusterset\.k8s\.io\): join it under that id/;
  assert.match(listed.lines.at(-1) ?? '', /^west {2}rejected /);
  assert.match(listed.lines.at(-1) ?? '', reason);
  assert.match(status.lines.at(-1) ?? '', reason);
});

test('list rejects one cluster under two ids', async () => {
  await using stack = new AsyncDisposableStack();
  const [east] = await startClusters(['east'], stack);
  assert.ok(east);
  const { list: listed, status } = await inspect([entryOf(east, 0), { ...entryOf(east, 1), id: 'again' }]);
  assert.match(listed.lines.at(-1) ?? '', /^again {2}rejected {2}east and again are one cluster: remove one of them$/);
  assert.equal(status.lines.at(-1), 'east and again are one cluster: remove one of them');
});

test('list and status show a replaced cluster with both uids', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west', 'north'], stack);
  const [east, west, north] = clusters;
  assert.ok(east && west && north);
  {
    await using controller = new AsyncDisposableStack();
    await join([east, west], controller).part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('west imports it', async () => (await west.imported('web')).length === 1);
    const lease = { namespace: leaseNamespace, name: leaseName('east') };
    await until('east has a lease', async () => (await west.client.find(leaseKind, lease)) !== undefined);
  }
  const entries = [{ ...entryOf(north, 0), id: 'east' }, entryOf(west, 1)];
  const { list: listed, status } = await inspect(entries);
  const reason = /the cluster behind id east was replaced \(uid of kube-system is \S+, was \S+\): remove east/;
  assert.match(listed.lines[1] ?? '', /^east {2}rejected /);
  assert.match(listed.lines[1] ?? '', reason);
  assert.match(status.lines.at(-1) ?? '', reason);
  assert.match(status.lines[1] ?? '', /cannot be read$/);
});

test('why without a cluster examines the first cluster in which a step fails', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  await join(clusters, stack).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west imports it', async () => (await west.imported('web')).length === 1);
  const ask = async (from?: string): Promise<readonly string[]> => {
    await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
    return (await showWhy(snapshot, 'shop/web', { from, api: 'clusterset', dnsOf: () => undefined })).lines;
  };
  assert.equal((await ask())[0], 'checking cluster east; pass --from ID for another one');
  assert.match((await ask('west'))[0] ?? '', /^ {2}ok +members /);
});

test('status, explain and why name endpoints that are left out', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [east] = clusters;
  assert.ok(east);
  await east.service('web', ['10.201.0.7']);
  await east.export('web');
  await using snapshot = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
  const leftOut = /left out: endpoint 10\.201\.0\.7 is in 10\.201\.0\.0\/16/;
  assert.match(
    showStatus(snapshot, undefined).lines.join('\n'),
    new RegExp(`^shop/web of east: ${leftOut.source}`, 'm'),
  );
  assert.match(showExplanation(snapshot, 'shop/web').lines.join('\n'), leftOut);
  await join(clusters, stack).part.ready;
  await until('east has the import', async () => (await east.importedService('web')) !== undefined);
  await using imported = await takeSnapshot(clusters.map(entryOf), { conflictPolicy: 'Withdraw' });
  const { lines } = await showWhy(imported, 'shop/web', { from: 'west', api: 'supercluster', dnsOf: () => undefined });
  assert.match(lines.join('\n'), new RegExp(`broken +slices +${leftOut.source}`));
});

test('status of a part of the set names the sources that are not in it', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west', 'north'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  await join(clusters, stack).part.ready;
  await east.service('web', ['10.1.0.1']);
  await east.export('web');
  await until('west imports it', async () => (await west.imported('web')).length === 1);
  const { status } = await inspect(clusters.slice(1).map((each, index) => entryOf(each, index + 1)));
  assert.equal(
    status.lines.at(-1),
    'imports name east, which the set does not have: pass all of its clusters with --members or --kubeconfig',
  );
  assert.doesNotMatch((await inspect(clusters.map(entryOf))).status.lines.join('\n'), /imports name/);
});

test('a cluster that rejects the credentials is unreachable for that reason', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const [, west] = clusters;
  assert.ok(west);
  const { part } = join(clusters, stack);
  await part.ready;
  west.fault = () => {
    throw failure({ code: 401, reason: 'Unauthorized', message: 'Unauthorized' });
  };
  west.breakConnections();
  const problem = 'requests to cluster west fail: it rejects the credentials (401)';
  const { list: listed, status } = await inspect(clusters.map(entryOf));
  assert.equal(listed.lines.at(-1), `west  unreachable  ${problem}`);
  assert.equal(status.lines.at(-1), problem);
  await until('the controller reports it', () => part.problems().includes(problem));
});
