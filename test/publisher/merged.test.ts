// One public name for a service that several clusters export.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { until } from '../../src/server/testing/until.ts';
import { dig } from '../dns/clients.ts';
import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { FairleadProcess, root } from '../harness/process.ts';
import type { SetCluster } from '../multicluster/set.ts';
import { leaseMs, startPlaces } from '../multicluster/set.ts';
import { key, keyFile, PrimaryServer } from './servers.ts';
import { balanced, setIngress, startStand } from './stand.ts';

describe('the public name of a merged service', { skip: unlessInstalled('named', 'knotd', 'dig') }, () => {
  test('SRV-10 has the load balancers of all clusters that export it; with a conflict the oldest export wins', async () => {
    await using folder = await temporaryDirectory();
    await using primary = await PrimaryServer.start('BIND');
    const { address, port } = primary.place;
    const keyPath = join(folder.path, 'key.conf');
    const config = join(folder.path, 'config.yaml');
    await writeFile(keyPath, keyFile(key));
    const section = { zone: ['example.org'], server: [`${address}:${port}`], 'tsig-key-file': keyPath, interval: '1s' };
    await writeFile(config, JSON.stringify({ publisher: section }));
    await using fairlead = await startFairlead(join(folder.path, 'data'), ['up', '--config', config]);
    const [found = assert.fail('no kubectl')] = await findKubectls();
    const kubectl = async (cluster: string, args: readonly string[], input = ''): Promise<string> => {
      const { out, err, code } = await run(found.path, ['--context', cluster, ...args], {
        input,
        env: { KUBECONFIG: fairlead.kubeconfig },
      });
      assert.equal(code, 0, `kubectl ${args.join(' ')}: ${out}${err}`);
      return out;
    };
    const targets: string[] = [];
    for (const cluster of ['east', 'west']) {
      const service = `
        apiVersion: v1
        kind: Service
        metadata: {name: shop}
        spec: {type: LoadBalancer, ports: [{name: http, port: 8080}]}`;
      const slice = `
        apiVersion: discovery.k8s.io/v1
        kind: EndpointSlice
        metadata: {name: shop-1, labels: {kubernetes.io/service-name: shop}}
        addressType: IPv4
        endpoints: [{addresses: [192.0.2.1]}]
        ports: [{name: http, port: 8080}]`;
      await kubectl(cluster, ['apply', '-f', '-'], `${service}\n---\n${slice}`);
      await until('a load balancer', async () => {
        const ip = await kubectl(cluster, [
          'get',
          'service',
          'shop',
          '-o',
          'jsonpath={.status.loadBalancer.ingress[0].ip}',
        ]);
        if (ip !== '') targets.push(ip);
        return ip !== '';
      });
      const exported = `
        apiVersion: multicluster.x-k8s.io/v1beta1
        kind: ServiceExport
        metadata: {name: shop${cluster === 'east' ? ', annotations: {fairlead.dev/hostname: shop.example.org}' : ''}}`;
      await kubectl(cluster, ['apply', '-f', '-'], exported);
    }
    const answers = async (name: string, type?: string): Promise<readonly string[]> =>
      (await dig(primary.place, `${name}.example.org`, type)).answer;
    const waitFor = (want: readonly string[]): Promise<boolean> =>
      until(
        `the addresses are ${want.join(', ')}`,
        async () => (await answers('shop')).join() === want.map((ip) => `A ${ip}`).join(),
      );
    await waitFor(targets);
    assert.deepEqual(await answers('_http._tcp.shop', 'SRV'), ['SRV 0 100 8080 shop.example.org.']);
    assert.match((await answers('a-shop', 'TXT')).join(), /resource=serviceimport\/default\/shop"$/);

    await kubectl('west', ['annotate', 'service', 'shop', 'fairlead.dev/hostname=other.example.org']);
    await waitFor(targets.slice(0, 1));
    const conflict = 'jsonpath={.status.conditions[?(@.type=="Conflict")].reason}';
    await until('west has a condition', async () =>
      (await kubectl('west', ['get', 'serviceexports.v1beta1.multicluster.x-k8s.io', 'shop', '-o', conflict])).includes(
        'HostnameConflict',
      ),
    );
    assert.deepEqual(await answers('other'), []);
    await kubectl('west', ['annotate', 'service', 'shop', 'fairlead.dev/hostname-']);
    await waitFor(targets);

    await kubectl('west', ['delete', 'serviceexports.v1beta1.multicluster.x-k8s.io', 'shop']);
    await waitFor(targets.slice(0, 1));
  });

  test('SRV-10 a Kerberos client outside finds all clusters by one name, a draining cluster is left out, and a lost one is removed when its lease expires', async () => {
    await using stack = new AsyncDisposableStack();
    const primary = stack.use(await PrimaryServer.start('Knot'));
    const places = ['west', 'east'].map((id) => ({ id, region: 'eu', zone: `eu-${id}` }));
    const { clusters, flags: controllerFlags } = await startPlaces(places, stack);
    const [west, east] = clusters;
    assert.ok(west && east);
    const lease = ['--source-lease-duration', `${leaseMs / 1000}s`, '--leader-elect=false'];
    await stack.use(new FairleadProcess(['multicluster', ...controllerFlags, ...lease])).ready();
    const folder = stack.use(await temporaryDirectory());
    const keyPath = join(folder.path, 'key.conf');
    await writeFile(keyPath, keyFile(key));
    const server = `${primary.place.address}:${primary.place.port}`;
    const flags = ['--zone', 'example.org', '--server', server, '--tsig-key-file', keyPath, '--health-port', '0'];
    const publisher = stack.use(new FairleadProcess(['publisher', '--kubeconfig', east.kubeconfig, ...flags]));
    await publisher.ready();

    const protocols = ['TCP', 'UDP'] as const;
    const ports = protocols.map((protocol) => ({
      name: protocol.toLowerCase(),
      protocol,
      port: 8088,
      srvServiceName: 'kerberos',
    }));
    // The clusters are on one machine, and each would allocate the first address of the same range.
    const targets = ['127.32.7.1', '127.32.7.2'];
    const targetOf = async ({ client }: SetCluster): Promise<string | undefined> =>
      (await client.get(serviceKind, { namespace: 'shop', name: 'idm' })).status.loadBalancer?.ingress?.[0]?.ip;
    for (const [index, cluster] of [west, east].entries()) {
      const loadBalancerIP = targets[index] ?? '';
      const spec = { type: 'LoadBalancer', loadBalancerIP, ports } as const;
      await cluster.serve('idm', spec, { 'fairlead.dev/hostname': 'idm.example.org' });
      await until('it has a load balancer', async () => (await targetOf(cluster)) === loadBalancerIP);
      await cluster.export('idm');
    }
    const answers = async (name: string, type?: string): Promise<string> =>
      (await dig(primary.place, `${name}.example.org`, type)).answer.join();
    await until('both clusters are published', async () => (await answers('idm')) === 'A 127.32.7.1,A 127.32.7.2');
    for (const protocol of protocols)
      assert.equal(await answers(`_kerberos._${protocol.toLowerCase()}.idm`, 'SRV'), 'SRV 0 100 8088 idm.example.org.');

    const [membersFlag = '', members = ''] = controllerFlags;
    const mcs = async (command: string, id: string): Promise<void> => {
      const words = [join(root, 'bin', 'fairlead.js'), 'mcs', command, id, membersFlag, members];
      const { code, out, err } = await run(process.execPath, words);
      assert.equal(code, 0, `${out}${err}`);
    };
    await mcs('drain', 'east');
    await until('the draining cluster is left out', async () => (await answers('idm')) === 'A 127.32.7.1');
    await mcs('drain', 'west');
    await until('no drain takes all', async () => (await answers('idm')) === 'A 127.32.7.1,A 127.32.7.2');
    await mcs('undrain', 'east');
    await until('the other one is left out', async () => (await answers('idm')) === 'A 127.32.7.2');
    await mcs('undrain', 'west');
    await until('both are published again', async () => (await answers('idm')) === 'A 127.32.7.1,A 127.32.7.2');
    await west.kill();
    await until('the lost cluster is gone', async () => (await answers('idm')) === 'A 127.32.7.2');
  });

  test('loses the targets of a lost cluster with its slices, but never the last ones, or those that cannot be read', async () => {
    await using stand = await startStand('Knot');
    const first = await stand.publish();
    const publication = {
      hostname: 'shop.example.org',
      clusters: ['east', 'west'].map((cluster, index) => ({
        cluster,
        targets: [`192.0.2.${index + 1}`],
        ports: [{ label: 'http', protocol: 'TCP', port: 80 }],
      })),
    };
    const slice = (cluster: string): object => ({
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: {
        name: cluster,
        labels: {
          'multicluster.kubernetes.io/service-name': 'shop',
          'multicluster.kubernetes.io/source-cluster': cluster,
        },
      },
      addressType: 'IPv4',
      endpoints: [],
      ports: [],
    });
    const imported = {
      apiVersion: 'multicluster.x-k8s.io/v1beta1',
      kind: 'ServiceImport',
      metadata: { name: 'shop', annotations: { 'fairlead.dev/publication': JSON.stringify(publication) } },
      spec: { type: 'ClusterSetIP', ports: [{ port: 80 }] },
    };
    const items = [imported, slice('east'), slice('west')];
    await stand.kubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
    await stand.waitFor('shop', 'A', ['A 192.0.2.1', 'A 192.0.2.2']);
    await stand.kubectl(['delete', 'endpointslice', 'west']);
    await stand.waitFor('shop', 'A', ['A 192.0.2.1']);
    await stand.kubectl(['delete', 'endpointslice', 'east']);
    // A later change shows that the loss of the last cluster was seen and changed nothing.
    await stand.kubectl(
      ['apply', '-f', '-'],
      JSON.stringify({
        ...imported,
        metadata: {
          ...imported.metadata,
          name: 'next',
          annotations: { 'fairlead.dev/publication': JSON.stringify({ ...publication, hostname: 'next.example.org' }) },
        },
      }),
    );
    const next = {
      metadata: {
        name: 'next',
        labels: {
          'multicluster.kubernetes.io/service-name': 'next',
          'multicluster.kubernetes.io/source-cluster': 'east',
        },
      },
    };
    await stand.kubectl(['apply', '-f', '-'], JSON.stringify({ ...slice('east'), ...next }));
    await stand.waitFor('next', 'A', ['A 192.0.2.1']);
    assert.deepEqual(await stand.answers('shop'), ['A 192.0.2.1']);

    // A publisher that may not read imports knows nothing of them.
    await first.stop('SIGTERM');
    const role = ['clusterrole', 'fairlead:publisher'];
    const before = await stand.kubectl(['get', ...role, '-o', 'json']);
    const { rules } = JSON.parse(before) as { readonly rules: readonly { readonly resources: readonly string[] }[] };
    const fewer = rules.filter(({ resources }) => !resources.includes('serviceimports'));
    assert.equal(fewer.length, rules.length - 1);
    await stand.kubectl(['patch', ...role, '--type=merge', '-p', JSON.stringify({ rules: fewer })]);
    const blind = await stand.publish();
    await stand.kubectl(['apply', '-f', '-'], balanced('seen', { hostname: 'seen.example.org' }));
    await setIngress(stand, 'seen', '[{"ip":"192.0.2.9"}]');
    await stand.waitFor('seen', 'A', ['A 192.0.2.9']);
    for (const name of ['shop', 'next']) assert.deepEqual(await stand.answers(name), ['A 192.0.2.1']);
    assert.match(await stand.plan(), /^nothing to change$/m);
    await blind.stop('SIGTERM');

    await stand.kubectl(['patch', ...role, '--type=merge', '-p', JSON.stringify({ rules })]);
    await stand.publish();
    await stand.kubectl(['delete', 'serviceimport', 'shop']);
    await until('the name is gone', async () => (await stand.answers('shop')).length === 0);
  });
});
