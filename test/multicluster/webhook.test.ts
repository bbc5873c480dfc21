// The webhook that warns about the effects of an export: registration in members, and authentication.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { RequestOptions } from 'node:https';
import { request } from 'node:https';
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

describe('the webhook of a set', () => {
  test('is registered in every member, updated after a restart, and removed from a member that leaves', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const first = new AsyncDisposableStack();
    join(clusters, first, { webhook });
    await until(
      'it is reported',
      async () => (await registered(east)) !== undefined && (await registered(west)) !== undefined,
    );
    const url = await registered(west);
    assert.match(url ?? '', /^https:\/\/127\.0\.0\.1:\d+\/exports\/west\/[\w-]{43}$/);
    const eastUrl = await registered(east);
    await first.disposeAsync();
    assert.equal(await registered(west), url, 'without it exports go on: it stays');
    const entries = clusters.map((cluster, index) => ({ ...entryOf(cluster, index), isLeaving: cluster === west }));
    join(clusters, stack, { webhook, members: (change) => change(entries) });
    await until('the webhook is removed from the leaving member', async () => (await registered(west)) === undefined);
    await until('the webhook has the new URL', async () => ![undefined, eastUrl].includes(await registered(east)));
  });

  test('is registered again if a member rejected it or a user deleted it', async () => {
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
    await until('the registration is rejected repeatedly', () => refused > 2);
    isRefusing = false;
    await until('the webhook is registered', async () => (await registered(east)) !== undefined);
    await east.client.delete(validatingWebhookConfigurationKind, { name: configurationName });
    await until('the webhook is registered again', async () => (await registered(east)) !== undefined);
  });

  test('of another owner is not changed', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    await east.client.create(validatingWebhookConfigurationKind, { metadata: { name: configurationName } });
    const { part } = join([east], stack, { webhook });
    await part.ready;
    await east.service('web', ['10.1.0.1']);
    await east.export('web');
    await until('services are imported nevertheless', async () => (await east.imported('web')).length === 1);
    assert.equal(await registered(east), undefined);
  });

  test('is registered by an agent in its own cluster only', async () => {
    await using stack = new AsyncDisposableStack();
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const entries = clusters.map((cluster, index) => ({ ...entryOf(cluster, index), isReadOnly: cluster === west }));
    join(clusters, stack, { webhook, members: (change) => change(entries.toReversed()) });
    await until('the webhook is registered', async () => (await registered(east)) !== undefined);
    assert.deepEqual(west.writes, []);
  });

  test('reports that it cannot listen', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const { part } = join([east], stack, { webhook: { ...webhook, listen: { host: '192.0.2.1', port: 0 } } });
    await assert.rejects(part.failed ?? Promise.resolve(), /EADDRNOTAVAIL/);
  });

  test('does not keep the services of requests', async () => {
    await using stack = new AsyncDisposableStack();
    const [east] = await startClusters(['east'], stack);
    assert.ok(east);
    const { metrics } = join([east], stack, { webhook });
    await until('the webhook is registered', async () => (await registered(east)) !== undefined);
    const metadata = { namespace: 'shop', name: 'nothing' };
    await east.client.create(serviceExportKind, { metadata, spec: {} }, { dryRun: true });
    assert.match(await metrics.metrics(), /fairlead_multicluster_services 0/);
  });
});

describe('the webhook of a set accepts only API servers of the set', () => {
  const review = JSON.stringify({
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: { uid: 'u', operation: 'CREATE', namespace: 'shop', name: 'web', dryRun: true },
  });
  /** The status of the response. Rejects if the server rejects the connection. */
  const statusOf = async (url: string, options: RequestOptions = {}): Promise<number> => {
    const { ca } = await certificate;
    const sent = request(url, { ca, method: 'POST', agent: false, ...options });
    sent.end(sent.method === 'POST' ? review : undefined);
    const [{ statusCode }] = (await once(sent, 'response')) as [{ statusCode: number }];
    sent.destroy();
    return statusCode;
  };
  const start = async (
    stack: AsyncDisposableStack,
    options: Partial<typeof webhook> & { readonly clientCa?: () => Promise<string> } = {},
  ): Promise<{ readonly east: string; readonly west: string; readonly again: () => Promise<string> }> => {
    const clusters = await startClusters(['east', 'west'], stack);
    const [east, west] = clusters;
    assert.ok(east && west);
    const urlOf = async (cluster: Cluster, before?: string): Promise<string> => {
      let url: string | undefined;
      await until('it is registered', async () => ![undefined, before].includes((url = await registered(cluster))));
      return url ?? '';
    };
    const first = stack.use(new AsyncDisposableStack());
    join(clusters, first, { webhook: { ...webhook, ...options } });
    const urls = { east: await urlOf(east), west: await urlOf(west) };
    const again = async (): Promise<string> => {
      await first.disposeAsync();
      join(clusters, stack, { webhook: { ...webhook, ...options } });
      return urlOf(east, urls.east);
    };
    return { ...urls, again };
  };

  test('rejects all paths except that of the cluster, which changes with a restart', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, again } = await start(stack);
    const { origin, pathname } = new URL(east);
    const secret = pathname.split('/').at(-1) ?? '';
    const changed = `${secret.slice(0, 20)}${secret[20] === 'A' ? 'B' : 'A'}${secret.slice(21)}`;
    const refused = [
      '/',
      '/exports',
      '/exports/east',
      '/exports/east/',
      `/exports/east/${changed}`,
      `/exports/east/${secret.slice(0, -1)}`,
      `/exports/east/${secret}A`,
      `/exports/east/${secret}/`,
      `/exports/west/${secret}`,
      `/exports/north/${secret}`,
      `/exports//${secret}`,
      `/exports/east/${encodeURIComponent('=')}${secret}`,
    ];
    for (const path of refused) assert.equal(await statusOf(origin + path), 404, path);
    assert.equal(await statusOf(east, { method: 'GET' }), 404);
    assert.equal(await statusOf(east), 200);
    assert.equal(await statusOf(`${east}?timeout=3s`), 200);
    assert.equal(await statusOf(west), 200);
    const next = await again();
    assert.equal(await statusOf(next), 200);
    assert.equal(await statusOf(new URL(next).origin + pathname), 404, 'the path of the run before');
  });

  test('requires a client certificate if certificate authorities are configured', async () => {
    const [ours, theirs] = [await issueCa('api-servers', validity), await issueCa('others', validity)];
    const client = { use: 'client', commonName: 'kube-apiserver', groups: [] } as const;
    await using stack = new AsyncDisposableStack();
    const { east } = await start(stack, { clientCa: () => Promise.resolve(ours.cert) });
    assert.equal(await statusOf(east, await issue(ours, client, validity)), 200);
    await assert.rejects(statusOf(east));
    await assert.rejects(statusOf(east, await issue(theirs, client, validity)));
  });
});
