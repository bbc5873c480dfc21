// Migration from a real ExternalDNS, and back: the program that EXTERNAL_DNS names, or `external-dns` on the PATH.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Running } from '../harness/command.ts';
import { start } from '../harness/command.ts';
import { find } from '../harness/needs.ts';
import { externalDnsFlags } from './external-dns.ts';
import type { PublisherStand } from './stand.ts';
import { setIngress, startStand } from './stand.ts';

const program = process.env['EXTERNAL_DNS'] ?? find('external-dns');
const skip = program === undefined && 'external-dns is not on the PATH, nor in EXTERNAL_DNS';

const owned = ['--owner-id', 'my-cluster', '--ttl', '300'];

function startExternalDns(stand: PublisherStand, ...flags: readonly string[]): Running {
  const own = ['--interval=1s', '--min-event-sync-interval=100ms', '--rfc2136-min-ttl=5m', ...flags];
  const all = [...externalDnsFlags(stand.server.kubeconfig, stand.primary.place), ...own];
  return start(program ?? assert.fail(), all, { timeoutMs: 300_000 });
}

async function stop(running: Running): Promise<void> {
  running[Symbol.dispose]();
  await running.ended.catch(() => undefined); // ended by us
}

const prefix = 'external-dns.kubernetes.io/';

/** A Service with annotations of ExternalDNS. */
const service = (name: string, annotations: Readonly<Record<string, string>>, spec: object): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    name,
    annotations: Object.fromEntries(Object.entries(annotations).map(([key, value]) => [`${prefix}${key}`, value])),
  },
  spec,
});

const ports = [{ name: 'http', port: 80, protocol: 'TCP' }];
const balanced = { type: 'LoadBalancer', loadBalancerClass: 'example.org/test', ports };
const services = [
  service('shop', { hostname: 'shop.example.org,store.example.org', ttl: '10m' }, balanced),
  service('alias', { hostname: 'alias.example.org' }, balanced),
  service('wild', { hostname: '*.wild.example.org' }, balanced),
  service('fixed', { hostname: 'fixed.example.org', target: '198.51.100.7,198.51.100.8' }, balanced),
  service('inside', { hostname: 'out.example.org', 'internal-hostname': 'in.example.org' }, balanced),
  service('db', { hostname: 'db.example.org' }, { clusterIP: 'None', ports }),
  service('ext', { hostname: 'ext.example.org' }, { type: 'ExternalName', externalName: 'www.example.net', ports }),
];
const endpoints = {
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'db-1', labels: { 'kubernetes.io/service-name': 'db' } },
  addressType: 'IPv4',
  endpoints: ['198.51.100.1', '198.51.100.2'].map((address, index) => ({
    addresses: [address],
    hostname: `db-${index}`,
    targetRef: { kind: 'Pod', name: `db-${index}`, namespace: 'default' },
  })),
  ports: [{ name: 'http', port: 80 }],
};

/** A Pod, which ExternalDNS wants to see for an endpoint of a headless Service. */
const pod = (index: number): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: `db-${index}`, labels: { app: 'db' } },
  spec: { hostname: `db-${index}`, containers: [{ name: 'db', image: 'db' }] },
});

const list = (items: readonly object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });

/** Records of the types that ExternalDNS manages, and their owners. */
const common = (records: readonly string[]): readonly string[] =>
  records.filter(
    (line) => / IN (?:A|AAAA|CNAME) /.test(line) || (line.includes(' IN TXT ') && !line.startsWith('srv-')),
  );

for (const maker of ['BIND', 'Knot'] as const)
  test(
    `SRV-10 takes over the records of ExternalDNS in ${maker} without a gap, and gives them back`,
    { skip },
    async () => {
      await using stack = new AsyncDisposableStack();
      const stand = stack.use(await startStand(maker));
      const startPeer = (...flags: readonly string[]): Running => stack.use(startExternalDns(stand, ...flags));
      await stand.kubectl(['apply', '-f', '-'], list([...services, endpoints, pod(0), pod(1)]));
      await setIngress(stand, 'shop', '[{"ip":"192.0.2.1"},{"ip":"2001:db8::1"}]');
      await setIngress(stand, 'alias', '[{"hostname":"lb.example.net"}]');
      for (const [index, name] of ['wild', 'fixed', 'inside'].entries())
        await setIngress(stand, name, `[{"ip":"192.0.2.${index + 2}"}]`);
      const untouched = await stand.primary.records();

      let peer = startPeer('--policy=sync', '--txt-owner-id=my-cluster');
      await stand.waitFor('db', 'A', ['A 198.51.100.1', 'A 198.51.100.2']);
      await stand.waitFor('store', 'AAAA', ['AAAA 2001:db8::1']);
      await stand.waitFor('alias', 'CNAME', ['CNAME lb.example.net.']);
      const before = await stand.primary.records();
      const plan = await stand.plan(owned);
      assert.match(plan, /^create +SRV +_http\._tcp\.shop\.example\.org /m);
      assert.doesNotMatch(plan, /^(?:update|delete) /m, 'nothing that ExternalDNS wrote changes');
      assert.doesNotMatch(plan, /^create +(?:A|AAAA|CNAME) /m, 'nothing that ExternalDNS writes is missing');

      await stop(peer);
      const publisher = await stand.publish(owned);
      await stand.waitFor('_http._tcp.store', 'SRV', ['SRV 0 100 80 store.example.org.']);
      await until('the plan is empty', async () => /^nothing to change$/m.test(await stand.plan(owned)));
      const taken = await stand.primary.records();
      assert.deepEqual(
        before.filter((line) => !taken.includes(line)),
        [],
        'no record was changed or deleted',
      );

      await setIngress(stand, 'shop', '[{"ip":"192.0.2.9"}]');
      await stand.waitFor('shop', 'A', ['A 192.0.2.9']);
      await stand.waitFor('store', 'AAAA', []);
      await stand.kubectl(['delete', 'service', 'wild', 'alias']);
      await until('they are gone', async () => {
        const names = (await stand.primary.records()).join('\n');
        return !names.includes('wild.example.org') && !names.includes('alias.example.org');
      });
      await publisher.stop('SIGTERM');

      const ours = await stand.primary.records();
      peer = startPeer('--policy=sync', '--txt-owner-id=my-cluster');
      await setIngress(stand, 'inside', '[{"ip":"192.0.2.10"}]');
      await stand.waitFor('out', 'A', ['A 192.0.2.10']);
      const changed = (records: readonly string[]): readonly string[] =>
        common(records).filter((line) => !line.startsWith('out.example.org.'));
      assert.deepEqual(changed(await stand.primary.records()), changed(ours), 'ExternalDNS continues with our records');
      await stop(peer);

      await stand.publish([...owned, '--owner-id', 'new-owner', '--migrate-from-txt-owner', 'my-cluster']);
      await until('all records have the new owner', async () => {
        const texts = (await stand.primary.records()).filter((line) => line.includes('external-dns/owner='));
        return texts.length > 0 && texts.every((line) => line.includes('owner=new-owner,'));
      });
      await stand.kubectl(['delete', 'services', '--all']);
      await until('only what was there before is left', async () =>
        (await stand.primary.records()).every((line) => untouched.includes(line)),
      );
    },
  );
