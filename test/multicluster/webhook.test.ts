// The webhook by which servers of a set ask what an export would do: where it is told, and who answers.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { validatingWebhookConfigurationKind } from '../../src/api/kinds/admissionregistration/validatingwebhookconfiguration/kind.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { configurationName } from '../../src/multicluster/webhook/configuration.ts';
import { issue, issueCa } from '../../src/server/pki/issue.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';

const validity = { now: new Date(), days: 1 };
const subject = { use: 'server', commonName: 'webhook', names: { dns: [], ips: ['127.0.0.1'] } } as const;
const certificate = (async () => {
  const ca = await issueCa('webhook-test', validity);
  return { ...(await issue(ca, subject, validity)), ca: ca.cert };
})();
const webhook = { listen: { host: '127.0.0.1', port: 0 }, certificate: () => certificate };

const registered = async ({ client }: Cluster): Promise<string | undefined> =>
  (await client.find(validatingWebhookConfigurationKind, { name: configurationName }))?.webhooks?.[0]?.clientConfig.url;

describe('F1 the webhook of a set', () => {
  test('is told to every member, is moved, and goes with a member that leaves', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const first = new AsyncDisposableStack();
    join(clusters, first, { webhook });
    await until(
      'it is told',
      async () => (await registered(east)) !== undefined && (await registered(west)) !== undefined,
    );
    const url = await registered(west);
    assert.match(url ?? '', /^https:\/\/127\.0\.0\.1:\d+\/exports\/west$/);
    await first.disposeAsync();
    assert.equal(await registered(west), url, 'without it exports go on: it stays');
    const entries = clusters.map((cluster, index) => ({ ...entryOf(cluster, index), isLeaving: cluster === west }));
    join(clusters, stack, { webhook, members: (change) => change(entries) });
    await until('it has gone from who leaves', async () => (await registered(west)) === undefined);
    await until(
      'it has moved',
      async () => ![undefined, url?.replace('west', 'east')].includes(await registered(east)),
    );
  });

  test('is told again where it was refused, or somebody deleted it', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    let isRefusing = true;
    let refused = 0;
    east.fault = ({ method, path }) => {
      if (!isRefusing || method === 'GET' || !path.includes('webhookconfigurations')) return;
      refused++;
      throw new Error('refused');
    };
    join([east], stack, { webhook: { ...webhook, checkMs: 50 } });
    await until('it is refused, again and again', () => refused > 2);
    isRefusing = false;
    await until('it is told', async () => (await registered(east)) !== undefined);
    await east.client.delete(validatingWebhookConfigurationKind, { name: configurationName });
    await until('it is told again', async () => (await registered(east)) !== undefined);
  });

  test('of somebody else is left alone', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    await east.client.create(validatingWebhookConfigurationKind, { metadata: { name: configurationName } });
    const { part } = join([east], stack, { webhook });
    await part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('services are joined all the same', async () => (await east.imported('web')).length === 1);
    assert.equal(await registered(east), undefined);
  });

  test('is told by an agent to its own cluster alone', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const entries = clusters.map((cluster, index) => ({ ...entryOf(cluster, index), isReadOnly: cluster === west }));
    join(clusters, stack, { webhook, members: (change) => change(entries.toReversed()) });
    await until('it is told', async () => (await registered(east)) !== undefined);
    assert.deepEqual(west.writes, []);
  });

  test('that cannot listen is a failure that is told', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const { part } = join([east], stack, { webhook: { ...webhook, listen: { host: '192.0.2.1', port: 0 } } });
    await assert.rejects(part.failed ?? Promise.resolve(), /EADDRNOTAVAIL/);
  });

  test('does not keep what it was asked about', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const { metrics } = join([east], stack, { webhook });
    await until('it is told', async () => (await registered(east)) !== undefined);
    const metadata = { namespace: 'shop', name: 'nothing' };
    await east.client.create(serviceExportKind, { metadata, spec: {} }, { dryRun: true });
    assert.match(await metrics.metrics(), /fairlead_multicluster_services 0/);
  });
});
