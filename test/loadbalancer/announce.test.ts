// `fairlead loadbalancer --interface`: addresses of load balancers on an isolated network, requested by a neighbor.
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless } from '../harness/needs.ts';
import { FairleadProcess } from '../harness/process.ts';
import type { Cluster } from '../proxy/namespaces/cluster.ts';
import { startCluster, whyNoNamespaces } from '../proxy/namespaces/cluster.ts';

const address = '192.0.2.20';
const objects = [
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'LoadBalancer', ports: [{ port: 8000, targetPort: 8080 }] },
  },
  {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    ports: [{ name: '', port: 8080, protocol: 'TCP' }],
    endpoints: [{ addresses: ['10.1.0.11'], conditions: { ready: true } }],
  },
];

describe('addresses on an interface', { skip: unless(whyNoNamespaces()) }, () => {
  const stack = new AsyncDisposableStack();
  let network: Cluster;
  let fairlead: Fairlead;
  let part: FairleadProcess;
  let kubectl = '';

  before(async () => {
    network = stack.use(await startCluster());
    const { path } = stack.use(await temporaryDirectory());
    kubectl = (await findKubectls())[0]?.path ?? 'kubectl';
    const manifest = join(path, 'web.json');
    await writeFile(manifest, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    const parts = ['--cluster', 'one', '--parts', 'server,controllers,proxy', '--apply', manifest];
    fairlead = stack.use(await startFairlead(join(path, 'data'), ['up', ...parts], { within: inNode() }));
  });
  after(() => stack.disposeAsync());

  const inNode = (): readonly string[] => ['ip', 'netns', 'exec', network.node.name];
  const k = (...args: readonly string[]): string =>
    network.node.run(kubectl, '--kubeconfig', fairlead.kubeconfig, ...args);
  const start = async (): Promise<void> => {
    const times = ['--leader-elect-lease-duration=3s', '--leader-elect-renew-deadline=2s'];
    const flags = ['--pool', `lab=${address}`, '--interface', 'leaf0', '--leader-elect-retry-period=500ms', ...times];
    const args = ['loadbalancer', '--kubeconfig', fairlead.kubeconfig, '--health-port', '0', ...flags];
    part = stack.use(new FairleadProcess(args, { within: inNode() }));
    await part.ready();
  };
  const isOnNode = (): boolean => network.node.run('ip', 'address', 'show', 'dev', 'leaf0').includes(` ${address}/32 `);
  const call = async (): Promise<string> => (await network.client.dial(address, 8000, { timeoutMs: 700 }))[0] ?? '';

  test('a neighbor reaches the Service and updates its ARP cache', async () => {
    const neighbour = ['neigh', 'replace', address, 'lladdr', '02:00:00:00:00:99', 'dev', 'eth0', 'nud', 'stale'];
    network.client.run('ip', ...neighbour);
    await start();
    await until('the neighbor has the address in its cache', () => {
      const known = network.client.run('ip', 'neigh', 'show', address);
      return known !== '' && !known.includes('02:00:00:00:00:99');
    });
    await until('the Service answers', async () => (await call()).startsWith('podA'));
    assert.equal(k('get', 'service', 'web', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ip}'), address);
  });

  test('a stopped process removes the address, a killed one loses it with the lease, and the next leader adds it', async () => {
    await part.stop('SIGTERM');
    assert.equal(isOnNode(), false);
    await start();
    await until('the address is on the interface again', isOnNode);
    await part.stop('SIGKILL');
    assert.equal(isOnNode(), true);
    await until('the address is removed', () => !isOnNode());
    await start();
    await until('the Service answers', async () => (await call()).startsWith('podA'));
  });

  test('removes the address with its Service', async () => {
    k('delete', 'service', 'web');
    await until('the address is removed', () => !isOnNode());
    await part.stop('SIGTERM');
  });

  test('records an Event if an address cannot be announced', async () => {
    const flags = ['--pool', `lab=${address}`, '--interface', 'nowhere', '--leader-elect=false', '--health-port', '0'];
    part = stack.use(
      new FairleadProcess(['loadbalancer', '--kubeconfig', fairlead.kubeconfig, ...flags], { within: inNode() }),
    );
    await part.ready();
    k('create', 'service', 'loadbalancer', 'lost', '--tcp=80');
    const why = /cannot announce 192\.0\.2\.20 on interface nowhere: Cannot find device "nowhere"/;
    await until('the Event is recorded', () => why.test(k('describe', 'service', 'lost')));
  });
});
