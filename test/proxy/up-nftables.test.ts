// `fairlead up --proxy nftables` in a network namespace, the node of two clusters, each with a Pod on another node.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless } from '../harness/needs.ts';
import type { Namespace } from './namespaces/namespace.ts';
import { startCluster, whyNoNamespaces } from './namespaces/cluster.ts';
import { names, pods } from './namespaces/routed.ts';

const members = [
  { name: 'east', range: '10.96.0.0/16', vip: '10.96.0.50', pod: 'podA' },
  { name: 'west', range: '10.97.0.0/16', vip: '10.97.0.50', pod: 'far' },
] as const;

const getImported = [
  'get',
  'importedservices.multicluster.k8s.io',
  'web',
  '--ignore-not-found',
  '-o',
  'jsonpath={.spec.ip}',
];
const withinMs = 60_000;

/** A Service with one endpoint, exported. */
const objects = ({ vip, pod }: (typeof members)[number]): readonly object[] => [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { clusterIP: vip, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace: 'default', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: [pods[pod].IPv4], conditions: { ready: true } }],
  },
  {
    apiVersion: 'multicluster.k8s.io/v1alpha1',
    kind: 'ServiceExport',
    metadata: { name: 'web', namespace: 'default' },
  },
];

test(
  'MCS-5 MCS-42 MCS-107 two clusters on one machine have separate rules, and share a service until one loses it',
  { skip: unless(whyNoNamespaces()) },
  async () => {
    await using directory = await temporaryDirectory();
    await using machine = await startCluster();
    const { node, client } = machine;
    const flags: string[] = [];
    for (const member of members) {
      const file = join(directory.path, `${member.name}.yaml`);
      await writeFile(
        file,
        objects(member)
          .map((each) => JSON.stringify(each))
          .join('\n---\n'),
      );
      flags.push('--service-cluster-ip-range', `${member.range}@${member.name}`, '--apply', `${file}@${member.name}`);
    }
    const within = ['ip', 'netns', 'exec', node.name];
    const command = ['up', '--proxy', 'nftables', '--parts', 'server,controllers,multicluster,proxy', ...flags];
    await using fairlead = await startFairlead(join(directory.path, 'data'), command, { within });
    const [kubectl] = await findKubectls();
    const ask = (context: string, ...args: readonly string[]): string =>
      node.run(kubectl?.path ?? '', '--kubeconfig', fairlead.kubeconfig, '--context', context, ...args);
    const reach = (who: Namespace, address: string, port: number, want: readonly string[]): Promise<unknown> =>
      until(
        `${address} leads to ${want.join()}`,
        async () => {
          const answers = names(await who.dial(address, port, { count: 40, timeoutMs: 300 }));
          return answers.join() === want.join();
        },
        withinMs,
      );
    for (const { vip, pod } of members) await reach(client, vip, 80, [pod]);
    const imported = (cluster: string): Promise<string> =>
      until(`${cluster} imports web`, () => ask(cluster, ...getImported) || undefined, withinMs);
    const shared = [await imported('east'), await imported('west')];
    // Addresses of imports are in the loopback range, where there are listeners.
    for (const address of shared) await reach(node, address, 80, ['far', 'podA']);
    ask('west', 'delete', 'endpointslice', 'web-1');
    for (const address of shared) await reach(node, address, 80, ['podA']);
    await reach(client, '10.97.0.50', 80, ['refused']);
    await reach(client, '10.96.0.50', 80, ['podA']);
    assert.doesNotMatch(fairlead.process.err, /routes could not be made/);
  },
);
