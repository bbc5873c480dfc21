// The scope of a cluster set: sets, exports, and everything that is never written.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { serviceNameLabel } from '../../src/api/kinds/discovery/endpointslice/labels.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { importedServiceKind } from '../../src/api/kinds/multicluster/supercluster/import.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { join, startClusters } from './clusters.ts';

const web = { namespace: 'shop', name: 'web' };

async function joined(ids: readonly string[], stack: AsyncDisposableStack): Promise<readonly Cluster[]> {
  const clusters = await startClusters(ids, stack);
  await join(clusters, stack).part.ready;
  return clusters;
}

const isExported = (cluster: Cluster) => async (): Promise<boolean> =>
  (await cluster.conditions('web', 'supercluster'))['Exported'] === 'True';

describe('a set', () => {
  test('MCS-1 MCS-14 all members import what any of them exports', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await joined(['east', 'west', 'north'], stack);
    for (const [index, cluster] of clusters.entries()) {
      await cluster.service(`of-${cluster.id}`, [`10.${index + 1}.0.1`]);
      await cluster.export(`of-${cluster.id}`);
    }
    for (const importer of clusters) {
      for (const [index, { id }] of clusters.entries()) {
        await until(`${importer.id} imports from ${id}`, async () => {
          const found = await importer.addresses(`of-${id}`);
          return found[id]?.[0] === `10.${index + 1}.0.1` && Object.keys(found).length === 1;
        });
      }
    }
  });

  test('MCS-16 equal namespaces and names are one service, other namespaces are other services', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await joined(['east', 'west'], stack);
    assert.ok(east && west);
    for (const cluster of [east, west]) await cluster.namespace('other');
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await west.service('web', ['10.2.0.1']);
    await west.export('web');
    const other = { namespace: 'other', name: 'web' };
    const spec = { ports: [{ name: 'http', port: 99 }] };
    await west.client.create(serviceKind, { metadata: other, spec, status: { loadBalancer: {} } });
    await west.client.create(superclusterExportKind, { metadata: other });
    await until(
      'one service of both clusters',
      async () => Object.keys(await east.addresses('web')).join() === 'east,west',
    );
    await until('another service', async () => (await east.client.find(importedServiceKind, other)) !== undefined);
    await until(
      'there is no conflict',
      async () => (await east.conditions('web', 'supercluster'))['Conflict'] === 'False',
    );
    const [one, two] = [await east.importedService('web'), await east.client.get(importedServiceKind, other)];
    assert.deepEqual([one?.spec?.ports?.[0]?.port, two.spec?.ports?.[0]?.port], [80, 99]);
    assert.notEqual(one?.spec?.ip, two.spec?.ip);
  });

  test('MCS-8 only imports and slices are written: no workloads, no network policies', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await joined(['east', 'west'], stack);
    assert.ok(east && west);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the export is complete', isExported(east));
    await east.unexport('web');
    await until('the import is deleted', async () => (await west.importedService('web')) === undefined);
    const kinds = [east, west].flatMap(({ writes }) => writes).map(({ path }) => resourceOf(path));
    const known = ['clusterproperties', 'endpointslices', 'events', 'importedservices', 'leases', 'serviceexports'];
    assert.deepEqual(new Set(kinds).difference(new Set([...known, 'serviceimports'])), new Set());
  });
});

/** The resource in the path of a request. */
const resourceOf = (path: string): string | undefined =>
  /^\/apis?\/(?:[^/]+\/)?v\d[^/]*\/(?:namespaces\/[^/]+\/)?([^/?]+)/.exec(path)?.[1];

describe('an export', () => {
  test('MCS-17 copies nothing from the Service, whose changes still apply', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await joined(['east', 'west'], stack);
    assert.ok(east && west);
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('the export is complete', isExported(east));
    const ports = [{ name: 'http', port: 8081, protocol: 'TCP' }];
    await east.client.patch(serviceKind, web, { body: { spec: { ports } } });
    await until(
      'the import has the change',
      async () => (await west.importedService('web'))?.spec?.ports?.[0]?.port === 8081,
    );
    const exports = [await east.client.get(superclusterExportKind, web), await east.client.get(serviceExportKind, web)];
    for (const { apiVersion: _, kind: _kind, metadata, status: _told, ...rest } of exports) {
      assert.deepEqual([metadata.generation, metadata.labels, metadata.annotations], [1, undefined, undefined]);
      assert.deepEqual(Object.values(rest), 'spec' in rest ? [{}] : []);
    }
  });

  test('MCS-22 Initialized is true before Exported, at every moment', async () => {
    await using stack = new AsyncDisposableStack();
    const [east, west] = await startClusters(['east', 'west'], stack);
    assert.ok(east && west);
    await east.service('web', ['10.1.0.1']);
    const seen: Record<string, string>[] = [];
    const end = new AbortController();
    stack.defer(() => end.abort());
    const watching = east.client.watch(superclusterExportKind, {
      namespace: 'shop',
      resourceVersion: '0',
      signal: end.signal,
    });
    const collected = (async () => {
      for await (const event of watching) {
        if (event.type === 'BOOKMARK') continue;
        const { conditions = [] } = event.object.status ?? {};
        seen.push(Object.fromEntries(conditions.map(({ type, status }) => [type, status])));
      }
    })().catch(() => undefined);
    await east.export('web');
    join([east, west], stack);
    await until('the export is complete', async () => seen.at(-1)?.['Exported'] === 'True');
    assert.ok(seen.every(({ Initialized, Exported }) => Exported !== 'True' || Initialized === 'True'));
    const { conditions = [] } = (await east.client.get(superclusterExportKind, web)).status ?? {};
    const since = (type: string): string => conditions.find((each) => each.type === type)?.lastTransitionTime ?? '';
    assert.ok(since('Initialized') <= since('Exported'), JSON.stringify(conditions));
    end.abort();
    await collected;
  });

  test('MCS-129 a port that is changed in phases is never withdrawn', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await joined(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    for (const [index, cluster] of clusters.entries()) {
      await cluster.service('web', [`10.${index + 1}.0.1`]);
      await cluster.export('web');
    }
    await until('the exports are complete', async () => (await isExported(east)()) && (await isExported(west)()));
    const uid = (await east.importedService('web'))?.metadata.uid;
    const [before, after] = [
      { name: 'http', port: 80 },
      { name: 'http-2', port: 8080 },
    ];
    for (const phase of [[before, after], [after]]) {
      for (const cluster of clusters) {
        const ports = phase.map((port) => ({ ...port, protocol: 'TCP' }));
        await cluster.client.patch(serviceKind, web, { body: { spec: { ports } } });
        await until('the new port is imported', async () => {
          const shown = (await cluster.importedService('web'))?.spec?.ports ?? [];
          return phase.every(({ name }) => shown.some((port) => port.name === name));
        });
        assert.notEqual((await east.conditions('web', 'supercluster'))['Conflict'], 'True');
      }
    }
    await until('the old port is deleted', async () => (await east.importedService('web'))?.spec?.ports?.length === 1);
    assert.equal((await east.importedService('web'))?.metadata.uid, uid, 'it is the same import all the time');
  });
});

describe('the size of an import', () => {
  test('MCS-70 as many slices and endpoints as its sources, none larger than theirs', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await joined(['east', 'west', 'north'], stack);
    const sizes = [100, 100, 50]; // 250 endpoints, the design size of a Service in Kubernetes
    for (const [index, cluster] of clusters.entries()) {
      await cluster.service('web', []);
      await cluster.client.delete(endpointSliceKind, { namespace: 'shop', name: 'web-abc' });
      for (const [number, size] of sizes.entries()) {
        const addresses = Array.from({ length: size }, (_, last) => `10.${index + 1}.${number}.${last + 1}`);
        await cluster.slice('web', addresses, `web-${number}`);
      }
      await cluster.export('web');
    }
    const weights = async (cluster: Cluster): Promise<string> =>
      (await cluster.imported('web'))
        .map(({ endpoints }) => endpoints?.length ?? 0)
        .toSorted((left, right) => left - right)
        .join();
    for (const cluster of clusters) {
      await until(
        'all slices are imported',
        async () => (await weights(cluster)) === '50,50,50,100,100,100,100,100,100',
      );
      const own = { namespace: 'shop', labelSelector: `${serviceNameLabel}=web` };
      assert.equal(
        (await cluster.client.list(endpointSliceKind, own)).items.length,
        sizes.length,
        'and its own as before',
      );
    }
  });
});
