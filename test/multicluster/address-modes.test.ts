// Clusters whose Pods other clusters cannot route to: imports have the addresses of load balancers or nodes.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import { eventKind } from '../../src/api/kinds/core/event/kind.ts';
import { nodeKind } from '../../src/api/kinds/core/node/kind.ts';
import type { Node } from '../../src/api/kinds/core/node/schema.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import type { ServiceSpec } from '../../src/api/kinds/core/service/schema.ts';
import { superclusterExportKind } from '../../src/api/kinds/multicluster/supercluster/export.ts';
import { serviceExportKind } from '../../src/api/kinds/multicluster/serviceexport/kind.ts';
import { audienceAnnotation } from '../../src/api/kinds/multicluster/audience.ts';
import {
  gatewayService,
  importersAnnotation,
  remoteGatewaysAnnotation,
} from '../../src/api/kinds/multicluster/gateway.ts';
import { sourceClusterLabel } from '../../src/api/kinds/multicluster/labels.ts';
import { namespaceKind } from '../../src/api/kinds/core/namespace/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import { registrationOf } from '../../src/gateway/registration.ts';
import { list } from '../../src/cli/mcs/membership.ts';
import { showWhy } from '../../src/cli/mcs/show.ts';
import type { MemberEntry } from '../../src/multicluster/inspect.ts';
import { takeSnapshot } from '../../src/multicluster/inspect.ts';
import { optionsOf } from '../../src/multicluster/member/entry.ts';
import type { MemberSettings } from '../../src/multicluster/member/entry.ts';
import { until } from '../../src/server/testing/until.ts';
import type { Cluster } from './clusters.ts';
import { entryOf, join, startClusters } from './clusters.ts';

const web = { namespace: 'shop', name: 'web' };
/** Both clusters have Pods in one range. */
const endpointCIDRs = ['10.1.0.0/16'];

async function joinedAs(stack: AsyncDisposableStack, settings: MemberSettings) {
  const clusters = await startClusters(['east', 'west'], stack);
  const [east, west] = clusters;
  assert.ok(east && west);
  const entries = clusters.map((cluster, index): MemberEntry => ({
    ...optionsOf(cluster === east ? settings : { endpointCIDRs }),
    ...entryOf(cluster, index),
  }));
  await join(clusters, stack, { members: (change) => change(entries) }).part.ready;
  return { east, west, entries };
}

async function setIngress({ client }: Cluster, ingress: readonly { readonly ip: string }[]): Promise<void> {
  const service = await client.get(serviceKind, web);
  await client.updateStatus(serviceKind, { ...service, status: { loadBalancer: { ingress } } });
}

/** `address:port` of the endpoints of east in a cluster, in brackets if they are not ready. */
async function endpointsIn(cluster: Cluster): Promise<string> {
  const slices = (await cluster.imported('web')).filter(
    ({ metadata }) => metadata.labels?.['multicluster.kubernetes.io/source-cluster'] === 'east',
  );
  return slices
    .flatMap(({ endpoints, ports }) =>
      (endpoints ?? []).map(({ addresses, conditions }) => {
        const text = `${addresses?.join()}:${ports?.map(({ port }) => port).join()}`;
        return conditions.ready === true ? text : `(${text})`;
      }),
    )
    .toSorted()
    .join(' ');
}

async function exportWeb(cluster: Cluster, spec: Partial<ServiceSpec>): Promise<void> {
  await cluster.service('web', ['10.1.0.1'], spec);
  await cluster.export('web');
}

const condition = async ({ client }: Cluster, type: 'Exported' | 'Ready') => {
  const kind = type === 'Exported' ? superclusterExportKind : serviceExportKind;
  return (await client.get(kind, web)).status?.conditions?.find((each) => each.type === type);
};

describe('other clusters reach a service', () => {
  test('by the addresses of its load balancer, and its own cluster by its Pods', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, entries } = await joinedAs(stack, {
      addressMode: 'loadbalancer',
      endpointCIDRs: ['203.0.113.0/24'],
    });
    await exportWeb(east, { type: 'LoadBalancer' });
    for (const type of ['Exported', 'Ready'] as const)
      await until(`${type} is False`, async () => (await condition(east, type))?.reason === 'NoIngressAddress');
    assert.match(
      (await condition(east, 'Exported'))?.message ?? '',
      /^Service shop\/web has no load balancer address yet/,
    );
    assert.equal(await endpointsIn(west), '');
    await until('east imports its Pods', async () => (await endpointsIn(east)) === '10.1.0.1:8080');

    await setIngress(east, [{ ip: '203.0.113.5' }]);
    await until('west has the address', async () => (await endpointsIn(west)) === '203.0.113.5:80');
    await until('the export is complete', async () => (await condition(east, 'Exported'))?.status === 'True');
    assert.equal(await endpointsIn(east), '10.1.0.1:8080');
    await using snapshot = await takeSnapshot(entries, { conflictPolicy: 'Withdraw' });
    const { lines } = await showWhy(snapshot, 'shop/web', { from: 'west', api: 'clusterset', dnsOf: () => undefined });
    assert.match(
      lines.join('\n'),
      /east is reached by its load balancer at 203\.0\.113\.5 \(address mode loadbalancer\)/,
    );

    await east.slice('web', []);
    await until('it is not ready without endpoints', async () => (await endpointsIn(west)) === '(203.0.113.5:80)');
    await east.slice('web', ['10.1.0.2']);
    await until('it is ready again', async () => (await endpointsIn(west)) === '203.0.113.5:80');
    // An address outside of the declared ranges is dropped, as those of endpoints are.
    await setIngress(east, [{ ip: '198.51.100.1' }]);
    await until('the address is dropped', async () => (await endpointsIn(west)) === '');
  });

  test('by the addresses of ready nodes and its node ports', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joinedAs(stack, { addressMode: 'nodeport' });
    const addNode = (name: string, address: string, ready: boolean) =>
      east.client.create(nodeKind, { metadata: { name }, spec: {}, status: {} } as unknown as Node).then((node) =>
        east.client.updateStatus(nodeKind, {
          ...node,
          status: {
            ...node.status,
            addresses: [{ type: 'InternalIP', address }],
            conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
          },
        } as unknown as Node),
      );
    await addNode('n1', '192.0.2.1', true);
    await addNode('n2', '192.0.2.2', false);
    const ports = [{ name: 'http', port: 80, protocol: 'TCP' as const, nodePort: 30080 }];
    await exportWeb(east, { type: 'NodePort', ports });
    await until('west has the ready node', async () => (await endpointsIn(west)) === '192.0.2.1:30080');
    await addNode('n3', '192.0.2.3', true);
    await until('west has a new node', async () => (await endpointsIn(west)) === '192.0.2.1:30080 192.0.2.3:30080');
  });

  test('by given addresses', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await joinedAs(stack, {
      addressMode: 'loadbalancer',
      addresses: ['198.51.100.7'],
      endpointCIDRs: ['203.0.113.0/24'],
    });
    await exportWeb(east, {});
    await until('west has the address', async () => (await endpointsIn(west)) === '198.51.100.7:80');
  });
});

describe('through gateways', () => {
  const register = (cluster: Cluster, address: string, isReady: boolean): Promise<unknown> =>
    cluster.client.apply(
      endpointSliceKind,
      registrationOf({ place: { host: address, port: 9443 }, isReady, problems: new Map() }),
    );

  const setup = async (stack: AsyncDisposableStack, settings: MemberSettings = {}) => {
    const joined = await joinedAs(stack, { addressMode: 'gateway', endpointCIDRs: ['192.0.2.0/24'], ...settings });
    for (const { client } of [joined.east, joined.west])
      await client.create(namespaceKind, { metadata: { name: gatewayService.namespace }, spec: {}, status: {} });
    return joined;
  };
  const sliceOf = async (cluster: Cluster) =>
    (await cluster.imported('web')).find(({ metadata }) => metadata.labels?.[sourceClusterLabel] === 'east');

  test('imports name the gateways of their own cluster, whose conditions are those of the replicas', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, entries } = await setup(stack);
    await register(west, '10.1.0.8', true);
    await exportWeb(east, {});
    await until('the exporting cluster has no gateway', async () => {
      const { reason, message = '' } = (await condition(east, 'Exported')) ?? {};
      return reason === 'NoIngressAddress' && message.includes('has no gateway');
    });
    await register(east, '192.0.2.5', true);
    await until('west has its gateway', async () => /^10\.1\.0\.8:2\d{4}$/.test(await endpointsIn(west)));
    const before = await endpointsIn(west);
    assert.equal((await sliceOf(west))?.metadata.annotations?.[remoteGatewaysAnnotation], '192.0.2.5:9443');
    assert.equal(await endpointsIn(east), '10.1.0.1:8080');
    assert.equal((await sliceOf(east))?.metadata.annotations?.[importersAnnotation], 'west');
    await until('the export is complete', async () => (await condition(east, 'Exported'))?.status === 'True');

    await register(west, '10.1.0.9', false);
    await until(
      'a second replica is not ready',
      async () => (await endpointsIn(west)) === `(${before.replace('.8:', '.9:')}) ${before}`,
    );
    await using snapshot = await takeSnapshot(entries, { conflictPolicy: 'Withdraw' });
    const { lines } = await showWhy(snapshot, 'shop/web', { from: 'west', api: 'clusterset', dnsOf: () => undefined });
    assert.match(
      lines.join('\n'),
      /east is reached by its gateways at 192\.0\.2\.5:9443, from gateways at 10\.1\.0\.8:2\d{4} and 10\.1\.0\.9:2\d{4} \(not ready\) \(address mode gateway\)/,
    );
    await east.slice('web', []);
    await until('nothing is ready without endpoints', async () => !/(^| )1/.test(await endpointsIn(west)));
    await east.slice('web', ['10.1.0.2']);
    await until('the port is the same as before', async () => (await endpointsIn(west)).includes(` ${before}`));
  });

  test('an importing cluster without a gateway is named in the conditions', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await setup(stack, { addresses: ['198.51.100.7', '198.51.100.8'] });
    await register(east, '192.0.2.5', true);
    await exportWeb(east, {});
    await until('the importing cluster has no gateway', async () => {
      const { reason, message = '' } = (await condition(east, 'Exported')) ?? {};
      return reason === 'NoGateway' && message.includes('cluster west has no gateway to reach Services of east');
    });
    await until('an Event reports it', async () =>
      (await east.client.list(eventKind, { namespace: 'shop' })).items.some(
        ({ type, reason, message = '', involvedObject }) =>
          type === 'Warning' &&
          reason === 'NoGateway' &&
          involvedObject.kind === 'ServiceExport' &&
          /^cluster west has no gateway to reach .*: run `fairlead gateway` in it$/.test(message),
      ),
    );
    assert.equal(await endpointsIn(west), '');
    await register(west, '10.1.0.8', true);
    await until('west has its gateway', async () => /^10\.1\.0\.8:2\d{4}$/.test(await endpointsIn(west)));
    assert.equal(
      (await sliceOf(west))?.metadata.annotations?.[remoteGatewaysAnnotation],
      '198.51.100.7:9443,198.51.100.8:9443',
    );
  });

  test('a gateway that others cannot use is reported for its member', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west, entries } = await setup(stack);
    const lineOf = async (): Promise<string> => {
      await using snapshot = await takeSnapshot(entries, { conflictPolicy: 'Withdraw' });
      return list(snapshot).lines.find((line) => line.startsWith('east')) ?? '';
    };
    assert.match(await lineOf(), /it has no gateway, .*: run `fairlead gateway` in it/);
    await register(east, '192.0.2.5', false);
    assert.match(await lineOf(), /no replica of its gateway is ready/);
    await register(east, '192.0.2.5', true);
    assert.doesNotMatch(await lineOf(), /gateway/);
    const problems = new Map([
      ['east', 'gateway 192.0.2.5:9443: its certificate is of cluster north, expected cluster east'],
    ]);
    await west.client.apply(
      endpointSliceKind,
      registrationOf({ place: { host: '10.1.0.8', port: 9443 }, isReady: true, problems }),
    );
    assert.match(await lineOf(), /from west: gateway 192\.0\.2\.5:9443: its certificate is of cluster north/);
  });

  test('only clusters in the audience may connect', async () => {
    await using stack = new AsyncDisposableStack();
    const { east, west } = await setup(stack);
    await register(west, '10.1.0.8', true);
    await register(east, '192.0.2.5', true);
    await exportWeb(east, {});
    await until(
      'west may connect',
      async () => (await sliceOf(east))?.metadata.annotations?.[importersAnnotation] === 'west',
    );
    for (const kind of [superclusterExportKind, serviceExportKind])
      await east.client.patch(kind, web, { body: { metadata: { annotations: { [audienceAnnotation]: 'tier=1' } } } });
    await until(
      'nobody may connect',
      async () => (await sliceOf(east))?.metadata.annotations?.[importersAnnotation] === '',
    );
    await until('west imports nothing', async () => (await endpointsIn(west)) === '');
  });
});

test('Pod ranges that overlap are reported for both members, and not if one has another address mode', async () => {
  await using stack = new AsyncDisposableStack();
  const clusters = await startClusters(['east', 'west'], stack);
  const reasons = async (settings: MemberSettings): Promise<readonly string[]> => {
    const entries = clusters.map((cluster, index): MemberEntry => ({
      ...optionsOf(index === 0 ? settings : { endpointCIDRs }),
      ...entryOf(cluster, index),
    }));
    await using snapshot = await takeSnapshot(entries, { conflictPolicy: 'Withdraw' });
    return list(snapshot).lines.slice(1);
  };
  const [east, west] = await reasons({ endpointCIDRs: ['10.0.0.0/8'] });
  assert.match(
    east ?? '',
    /^east +ready +its endpointCIDRs 10\.0\.0\.0\/8 overlap 10\.1\.0\.0\/16 of cluster west, .* set addressMode to gateway/,
  );
  assert.match(west ?? '', /^west +ready +its endpointCIDRs 10\.1\.0\.0\/16 overlap 10\.0\.0\.0\/8 of cluster east/);
  for (const line of await reasons({ addressMode: 'nodeport', endpointCIDRs: ['10.0.0.0/8'] }))
    assert.doesNotMatch(line, /overlap/);
});
