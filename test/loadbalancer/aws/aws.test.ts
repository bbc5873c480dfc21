// `fairlead loadbalancer --provider aws` as a process with the rights of its role, with a stand-in for AWS.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { isGone } from '../../../src/loadbalancer/providers/aws/errors.ts';
import { inventory } from './inventory.ts';
import type { StandInPeer } from './testing/peer.ts';
import { standInPeer } from './testing/peer.ts';
import { until } from '../../../src/server/testing/until.ts';
import { run } from '../../harness/command.ts';
import { findKubectls } from '../../harness/kubectl.ts';
import { FairleadProcess, root } from '../../harness/process.ts';
import { FairleadServer } from '../../harness/server.ts';

const node = (name: string, instance: string): object => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name },
  spec: { providerID: `aws:///eu-central-1a/${instance}` },
});
/** Longer than the first backoff. */
const eventually = (what: string, probe: () => Promise<boolean>): Promise<boolean> => until(what, probe, 30_000);
const web = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: {
    type: 'LoadBalancer',
    ports: [
      { name: 'http', port: 80, nodePort: 30_080 },
      { name: 'dns', port: 53, protocol: 'UDP', nodePort: 30_053 },
    ],
  },
};

describe('load balancers of AWS', () => {
  const stack = new AsyncDisposableStack();
  let peer: StandInPeer;
  let server: FairleadServer;
  let part: FairleadProcess;
  let kubectl = '';
  let kubeconfig = '';

  before(async () => {
    peer = stack.use(await standInPeer());
    peer.standIn.account.slowness = { provisioning: 0, hidden: 0, inUse: 0 };
    server = stack.use(await FairleadServer.start());
    kubectl = (await findKubectls())[0]?.path ?? 'kubectl';
    kubeconfig = join(server.directory, 'loadbalancer.kubeconfig');
    const add = ['user', 'add', 'loadbalancer', '--part', '-o', kubeconfig, '--data-dir', server.directory];
    const { code, err } = await run(process.execPath, [join(root, 'bin', 'fairlead.js'), ...add]);
    assert.equal(code, 0, err);
    await apply(node('node-1', 'i-0a'), node('node-2', 'i-0b'));
    await start();
  });
  after(() => stack.disposeAsync());

  const start = async (): Promise<void> => {
    const subnets = ['--aws-subnets', peer.subnets.join(), '--aws-region', 'eu-central-1'];
    const aws = ['--provider', 'aws', '--cluster-name', 'east', '--aws-endpoint', peer.standIn.endpoint, ...subnets];
    const alone = ['--kubeconfig', kubeconfig, '--health-port', '0', '--leader-elect=false'];
    part = stack.use(new FairleadProcess(['loadbalancer', ...alone, ...aws]));
    await part.ready();
  };
  const k = async (args: readonly string[], input = ''): Promise<string> => {
    const { out, err, code } = await run(kubectl, ['--kubeconfig', server.kubeconfig, ...args], { input });
    assert.equal(code, 0, `kubectl ${args.join(' ')}: ${err}${part?.err ?? ''}`);
    return out;
  };
  const apply = (...objects: readonly object[]): Promise<string> =>
    k(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  const patch = (spec: object): Promise<string> =>
    k(['patch', 'service', 'web', '--type=merge', '-p', JSON.stringify({ spec })]);
  const waits = (condition: string): Promise<string> =>
    k(['wait', 'service/web', `--for=${condition}`, '--timeout=30s']);
  const found = (): Promise<readonly string[]> => inventory(peer);
  /** Reads again if a resource is deleted during the read. */
  const leadsTo = (want: readonly string[]): Promise<boolean> =>
    eventually(`AWS has ${want.length} lines`, async () => {
      const lines = await found().catch((error: unknown) => (isGone(error) ? ['going'] : Promise.reject(error)));
      return lines.join() === want.join();
    });
  const made = (nodes: string): readonly string[] => [
    'network internet-facing for default/web',
    `80/TCP → TCP 30080 at ${nodes}, checked by TCP traffic-port`,
    `53/UDP → UDP 30053 at ${nodes}, checked by TCP 30080`,
    'in 53/udp from 0.0.0.0/0, 80/tcp from 0.0.0.0/0',
  ];

  test('LB-3 a Service gets a host name and a status for every port', async () => {
    await apply(web);
    await waits('jsonpath={.status.loadBalancer.ingress[0].hostname}');
    assert.match(await k(['get', 'service', 'web']), /LoadBalancer\s+\S+\s+fl-\S+\.elb\.eu-central-1\.amazonaws\.com /);
    const ports = await k(['get', 'service', 'web', '-o', 'jsonpath={.status.loadBalancer.ingress[0].ports}']);
    assert.deepEqual(JSON.parse(ports), [
      { port: 80, protocol: 'TCP' },
      { port: 53, protocol: 'UDP' },
    ]);
    assert.deepEqual(await found(), made('i-0a i-0b'));
    await eventually('the Event is recorded', async () => /EnsuredLoadBalancer/.test(await k(['get', 'events'])));
  });

  test('updates targets with the nodes', async () => {
    await apply(node('node-3', 'i-0c'));
    await k(['delete', 'node', 'node-1']);
    await leadsTo(made('i-0b i-0c'));
  });

  test('LB-4 LB-6 a change that AWS does not support is reported by condition and Event, and the existing ports stay', async () => {
    const both = [...web.spec.ports, { name: 'dns-tcp', port: 53, protocol: 'TCP', nodePort: 30_053 }];
    await patch({ ports: both });
    await waits('condition=LoadBalancerPortsError');
    assert.deepEqual(await found(), made('i-0b i-0c'));
    const event = /Warning\s+SyncLoadBalancerFailed\s.*enable-tcp-udp-listener/;
    await eventually('the Event is recorded', async () => event.test(await k(['get', 'events'])));

    await k([
      'annotate',
      'service',
      'web',
      'service.beta.kubernetes.io/aws-load-balancer-enable-tcp-udp-listener=true',
    ]);
    await waits('condition=LoadBalancerPortsError=false');
    assert.match((await found()).join('\n'), /^53\/TCP_UDP → TCP_UDP 30053 at i-0b i-0c, /m);
  });

  test('retries after a failure of AWS, and reports it on the Service', async () => {
    peer.standIn.injectFault = (action) =>
      action === 'ModifyListener' ? { isDone: false, error: { status: 403, code: 'AccessDenied' } } : undefined;
    await patch({ ports: web.spec.ports });
    const event = /Error syncing load balancer: failed to ensure load balancer: ModifyListener \S+: AccessDenied/;
    await eventually('the Event is recorded', async () => event.test(await k(['get', 'events'])));
    peer.standIn.injectFault = () => undefined;
    await leadsTo(made('i-0b i-0c'));
  });

  test('allows only clients in the source ranges, and sends traffic to endpoints with target type ip', async () => {
    const slice = {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name: 'web-1', labels: { 'kubernetes.io/service-name': 'web' } },
      addressType: 'IPv4',
      ports: [
        { name: 'http', port: 8080, protocol: 'TCP' },
        { name: 'dns', port: 5353, protocol: 'UDP' },
      ],
      endpoints: [{ addresses: ['172.31.0.7'], conditions: { ready: true } }],
    };
    await apply(slice);
    await patch({ loadBalancerSourceRanges: ['192.0.2.0/24'] });
    await k(['annotate', 'service', 'web', 'service.beta.kubernetes.io/aws-load-balancer-nlb-target-type=ip']);
    const toEndpoint = (address: string): readonly string[] => [
      'network internet-facing for default/web',
      `80/TCP → TCP 80 at ${address}:8080, checked by TCP traffic-port`,
      `53/UDP → UDP 53 at ${address}:5353, checked by TCP 80`,
      'in 53/udp from 192.0.2.0/24, 80/tcp from 192.0.2.0/24',
    ];
    await leadsTo(toEndpoint('172.31.0.7'));
    await apply({ ...slice, endpoints: [{ addresses: ['172.31.0.8'], conditions: { ready: true } }] });
    await leadsTo(toEndpoint('172.31.0.8'));
  });

  test('LB-22 a deleted Service leaves nothing behind', async () => {
    await k(['delete', 'service', 'web', '--timeout=30s']);
    assert.deepEqual(await found(), []);
  });

  test('LB-22 finds orphans by their tags', async () => {
    await apply(web);
    await waits('jsonpath={.status.loadBalancer.ingress[0].hostname}');
    await part.stop('SIGKILL');
    await k(['patch', 'service', 'web', '--type=merge', '-p', '{"metadata":{"finalizers":[]}}']);
    await k(['delete', 'service', 'web', '--timeout=30s']);
    assert.equal((await found()).length, 4);
    await start();
    await leadsTo([]);
    assert.doesNotMatch(part.err, /forbidden/i);
    await part.stop('SIGTERM');
  });
});

test('the error about a missing SDK names the package', async () => {
  const without = `import { registerHooks } from 'node:module';
    registerHooks({ resolve(name, context, next) {
      if (!name.startsWith('@aws-sdk/')) return next(name, context);
      throw Object.assign(new Error(name), { code: 'ERR_MODULE_NOT_FOUND' });
    } });`;
  const args = ['loadbalancer', '--provider', 'aws', '--cluster-name', 'east', '--kubeconfig', 'none'];
  const hook = `data:text/javascript,${encodeURIComponent(without)}`;
  const { err, code } = await run(process.execPath, ['--import', hook, join(root, 'bin', 'fairlead.js'), ...args]);
  assert.match(err, /load balancers of AWS need its SDK: npm install @aws-sdk\/client-elastic-load-balancing-v2$/m);
  assert.equal(code, 1);
});
