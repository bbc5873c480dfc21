// One public name for a service that several clusters export.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { dig } from '../dns/clients.ts';
import { run } from '../harness/command.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unlessInstalled } from '../harness/needs.ts';
import { key, keyFile, PrimaryServer } from './servers.ts';
import { startStand } from './stand.ts';

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

  test('loses the targets of a lost cluster with its slices, and never the last ones', async () => {
    await using stand = await startStand('Knot');
    await stand.publish();
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
    await stand.kubectl(['delete', 'serviceimport', 'shop']);
    await until('the name is gone', async () => (await stand.answers('shop')).length === 0);
  });
});
