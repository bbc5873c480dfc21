// Tests of the adapter against any server that implements the ELBv2 API.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import type { Service } from '../../../src/api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../../src/api/kinds/discovery/endpointslice/schema.ts';
import type { Backends, Ensured } from '../../../src/loadbalancer/controller/provider.ts';
import { tcpUdpListener } from '../../../src/loadbalancer/clouds/aws.ts';
import { serviceWith } from '../../../src/loadbalancer/testing/service.ts';
import { sliceOf, toNodes } from '../../../src/loadbalancer/providers/aws/testing/backends.ts';
import type { Peer } from './inventory.ts';
import { groupsIn, inventory } from './inventory.ts';
import { retrying } from './retrying.ts';
import { AwsProvider } from '../../../src/loadbalancer/providers/aws/provider.ts';

const { signal } = new AbortController();
const prefix = 'service.beta.kubernetes.io/aws-load-balancer';
const sharesPorts = { annotations: { [tcpUdpListener]: 'true' } };

export interface ContractOptions {
  readonly start: () => Promise<Peer>;
  /** Reason to skip all tests. */
  readonly skip?: string | false;
  /** Reason to skip changes of listener protocols. */
  readonly fixedProtocols?: string;
}

/** The suite for all ELBv2 servers. */
export function awsContract(title: string, { start, skip = false, fixedProtocols }: ContractOptions): void {
  describe(`AWS load balancers at ${title}`, { skip }, () => {
    let peer: Peer;
    let provider: AwsProvider;
    let backends: Backends;
    const providerOf = (cluster: string, isMixingAllowed = true): AwsProvider =>
      new AwsProvider({ ...peer, cluster, securityGroups: [], isMixingAllowed });
    const found = (): Promise<readonly string[]> => inventory(peer);
    const listeners = async (): Promise<readonly string[]> =>
      (await found()).filter((line) => /^\d+\/\S+ → /.test(line));
    before(async () => {
      peer = await start();
      provider = providerOf('east');
      backends = toNodes(peer.instances.slice(0, 2));
    });
    const ensure = (service: Service, where = backends): Promise<Ensured> =>
      retrying(() => provider.ensure(service, where, signal));
    after(() => peer[Symbol.asyncDispose]());

    /** Creates a load balancer, reads it, and deletes it. */
    const during = async (service: Service, look: (ensured: Ensured) => Promise<void>): Promise<void> => {
      const ensured = await ensure(service);
      try {
        await look(ensured);
      } finally {
        await retrying(() => provider.remove(service, signal));
      }
      assert.deepEqual(await found(), [], 'nothing is left');
      assert.equal(await provider.find(service, signal), undefined);
    };

    test('LB-12 TCP and UDP on different ports are two listeners, each with its nodes', async () => {
      await during(serviceWith('80/TCP 81/UDP'), async ({ status, refusal }) => {
        const [one, two] = peer.instances;
        assert.equal(refusal, undefined);
        assert.deepEqual(await found(), [
          'network internet-facing for default/web',
          `80/TCP → TCP 30080 at ${one} ${two}, checked by TCP traffic-port`,
          `81/UDP → UDP 30081 at ${one} ${two}, checked by TCP 30080`,
          'in 80/tcp from 0.0.0.0/0, 81/udp from 0.0.0.0/0',
        ]);
        const [entry] = status.ingress ?? [];
        assert.match(entry?.hostname ?? '', /\.elb\./);
        assert.deepEqual(entry?.ports, [
          { port: 80, protocol: 'TCP' },
          { port: 81, protocol: 'UDP' },
        ]);
        assert.equal(entry?.ip, undefined);
      });
    });

    test('LB-12 refuses TCP and UDP on one port without the annotation before it creates anything', async () => {
      const service = serviceWith('53/TCP 53/UDP');
      const { status, refusal } = await ensure(service);
      assert.equal(refusal?.reason, 'LoadBalancerMixedProtocolNotSupported');
      assert.deepEqual(
        status.ingress?.[0]?.ports?.map(({ error }) => error),
        ['fairlead.dev/SamePortOptInRequired', 'fairlead.dev/SamePortOptInRequired'],
      );
      assert.deepEqual(await found(), []);
    });

    test('LB-12 TCP and UDP on one port are one listener with the annotation', async () => {
      await during(serviceWith('53/TCP 53/UDP 443/TCP', sharesPorts), async ({ status }) => {
        assert.deepEqual(
          (await listeners()).map((line) => line.split(' at ')[0]),
          ['53/TCP_UDP → TCP_UDP 30053', '443/TCP → TCP 30443'],
        );
        assert.equal(status.ingress?.[0]?.portStatuses?.filter(({ ready }) => ready).length, 3);
      });
    });

    test('LB-5 creates nothing if one port is not supported', async () => {
      const { refusal } = await ensure(serviceWith('80/TCP 9000/SCTP'));
      assert.match(refusal?.message ?? '', /AWS NLB supports only TCP and UDP, not SCTP/);
      assert.deepEqual(await found(), []);
    });

    test('LB-8 with the gate off, refuses a new mixed Service', async () => {
      const { refusal } = await providerOf('east', false).ensure(serviceWith('80/TCP 81/UDP'), backends, signal);
      assert.match(refusal?.message ?? '', /MixedProtocolLBService, which is off/);
      assert.deepEqual(await found(), []);
    });

    test('LB-23 with the gate off, an existing mixed Service can be changed', async () => {
      await during(serviceWith('80/TCP 81/UDP'), async () => {
        const changed = serviceWith('80/TCP 82/UDP');
        const { refusal } = await retrying(() => providerOf('east', false).ensure(changed, backends, signal));
        assert.equal(refusal, undefined);
        assert.match((await found()).join('\n'), /^82\/UDP → UDP 30082 at /m);
      });
    });

    /** Changes the ports of one Service, and compares them with the open ports. */
    const walk = (...sets: readonly string[]): Promise<void> =>
      during(serviceWith('53/TCP', sharesPorts), async ({ status: { ingress } }) => {
        const hostname = ingress?.[0]?.hostname;
        for (const ports of sets) {
          const { status } = await ensure(serviceWith(ports, sharesPorts));
          assert.equal(status.ingress?.[0]?.hostname, hostname, ports);
          const lines = await listeners();
          const open = lines.map((line) => line.split(' ')[0] ?? '').flatMap(split);
          assert.deepEqual(open.toSorted(), ports.split(' ').toSorted());
          assert.equal((await groupsIn(peer.elb)).length, lines.length);
          const rules = open.map((port) => `${port.toLowerCase()} from 0.0.0.0/0`).toSorted();
          assert.equal((await found()).at(-1), `in ${rules.join(', ')}`, 'clients can connect to these ports only');
        }
      });

    test('adds and removes ports without renaming the load balancer', () =>
      walk('53/TCP 80/TCP 81/UDP', '80/TCP 81/UDP', '81/UDP 443/TCP', '53/TCP'));

    test('LB-12 changes the protocol of a port, or adds a second one', { skip: fixedProtocols }, () =>
      walk('53/TCP 53/UDP', '53/TCP 53/UDP 80/TCP', '53/UDP 80/TCP', '53/TCP 80/UDP'),
    );

    test('LB-22 a refused change keeps existing resources and reports which ports stay open', async () => {
      await during(serviceWith('80/TCP'), async () => {
        const before = await found();
        const { status, refusal } = await ensure(serviceWith('80/TCP 80/UDP'));
        assert.notEqual(refusal, undefined);
        assert.deepEqual(await found(), before);
        assert.match(status.ingress?.[0]?.hostname ?? '', /\.elb\./);
        assert.deepEqual(
          status.ingress?.[0]?.ports?.map(({ error }) => error),
          [undefined, 'fairlead.dev/SamePortOptInRequired'],
        );
      });
    });

    test('adds and removes nodes', async () => {
      const service = serviceWith('80/TCP 53/UDP');
      const [one, two, three] = peer.instances;
      await during(service, async () => {
        await provider.updateBackends(service, toNodes(peer.instances.slice(1)), signal);
        const lines = await listeners();
        assert.equal(lines.length, 2);
        for (const line of lines) {
          assert.ok(line.includes(`at ${two} ${three},`), line);
          assert.ok(!line.includes(one ?? ''), line);
        }
      });
    });

    test('with target type ip, targets are the ready endpoints at their own ports', async () => {
      const annotations = { [`${prefix}-nlb-target-type`]: 'ip', ...sharesPorts.annotations };
      const change = { annotations, spec: { allocateLoadBalancerNodePorts: false } };
      const service = serviceWith('53/TCP 53/UDP 80/TCP', change);
      assert.equal(provider.sendsToEndpoints(service), true);
      const dns = { 'tcp-53': 5353, 'udp-53': 5353 };
      const to = (...slices: readonly EndpointSlice[]): Backends => ({ nodes: [], slices });
      const first = to(
        sliceOf({ ...dns, 'tcp-80': 8080 }, '172.31.0.1', '172.31.0.2 unready'),
        sliceOf({ ...dns, 'tcp-80': 8081 }, '172.31.0.3'),
      );
      await during(serviceWith('53/TCP 53/UDP 80/TCP', sharesPorts), async () => {
        await ensure(service, first);
        assert.deepEqual(await listeners(), [
          '53/TCP_UDP → TCP_UDP 53 at 172.31.0.1:5353 172.31.0.3:5353, checked by TCP traffic-port',
          '80/TCP → TCP 80 at 172.31.0.1:8080 172.31.0.3:8081, checked by TCP traffic-port',
        ]);
        await provider.updateBackends(service, to(sliceOf({ ...dns, 'tcp-80': 8080 }, '172.31.0.2')), signal);
        const targets = async () => (await listeners()).map((line) => / at (.*),/.exec(line)?.[1]);
        assert.deepEqual(await targets(), ['172.31.0.2:5353', '172.31.0.2:8080']);
        await ensure(serviceWith('53/TCP 80/SCTP', change), to(sliceOf(dns, '172.31.0.4')));
        assert.deepEqual(
          await targets(),
          ['172.31.0.4:5353', '172.31.0.2:8080'],
          'a refused change, as far as it goes',
        );
      });
    });

    test('checks nodes at the proxy for UDP and at the health check node port for policy Local', async () => {
      const healthOf = async (): Promise<readonly string[]> =>
        (await found()).flatMap((line) => line.split(', checked by ')[1] ?? []);
      await during(serviceWith('53/UDP'), async () => {
        assert.deepEqual(await healthOf(), ['HTTP 10256 /healthz']);
        const local = { externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000 } as const;
        await ensure(serviceWith('53/UDP', { spec: local }));
        assert.deepEqual(await healthOf(), ['HTTP 31000 /healthz']);
      });
    });

    test('annotations: internal, attributes, tags', async () => {
      const annotations = {
        [`${prefix}-scheme`]: 'internal',
        [`${prefix}-cross-zone-load-balancing-enabled`]: 'true',
        [`${prefix}-additional-resource-tags`]: 'team=dns, stage=test',
        [`${prefix}-proxy-protocol`]: '*',
      };
      const service = serviceWith('80/TCP', { annotations, spec: { sessionAffinity: 'ClientIP' } });
      await during(service, async () => {
        assert.equal((await found())[0], 'network internal for default/web');
        const [balancer] = (await peer.elb.describeLoadBalancers({})).LoadBalancers ?? [];
        const [group] = await groupsIn(peer.elb);
        const { LoadBalancerArn = '' } = balancer ?? {};
        const { TargetGroupArn = '' } = group ?? {};
        const { Attributes: ofBalancer = [] } = await peer.elb.describeLoadBalancerAttributes({ LoadBalancerArn });
        const { Attributes: ofGroup = [] } = await peer.elb.describeTargetGroupAttributes({ TargetGroupArn });
        const texts = [...ofBalancer, ...ofGroup].map(({ Key, Value }) => `${Key}=${Value}`);
        for (const text of [
          'load_balancing.cross_zone.enabled=true',
          'proxy_protocol_v2.enabled=true',
          'stickiness.enabled=true',
          'stickiness.type=source_ip',
        ])
          assert.ok(texts.includes(text), `${text} is in ${texts.join(' ')}`);
        const { TagDescriptions = [] } = await peer.elb.describeTags({ ResourceArns: [LoadBalancerArn] });
        assert.ok(TagDescriptions[0]?.Tags?.some(({ Key, Value }) => Key === 'team' && Value === 'dns'));
      });
    });

    test('finds only load balancers of its own cluster', async () => {
      const service = serviceWith('80/TCP');
      await during(service, async () => {
        assert.deepEqual(await provider.list(signal), [{ namespace: 'default', name: 'web', uid: 'uid-web' }]);
        const other = providerOf('west');
        assert.deepEqual(await other.list(signal), []);
        await other.remove(service, signal);
        assert.equal((await found()).length, 3, 'and not removed by another');
      });
    });

    test('source ranges are rules of the security group and can be changed', async () => {
      const from = (...ranges: readonly string[]): Service =>
        serviceWith('53/TCP 53/UDP', { ...sharesPorts, spec: { loadBalancerSourceRanges: ranges } });
      const rules = async (): Promise<string> => (await found()).at(-1) ?? '';
      await during(from('192.0.2.7/24', '198.51.100.0/25'), async () => {
        const [one, two] = ['192.0.2.0/24', '198.51.100.0/25'];
        const both = [`53/tcp from ${one}`, `53/tcp from ${two}`, `53/udp from ${one}`, `53/udp from ${two}`];
        assert.equal(await rules(), `in ${both.join(', ')}`);
        await ensure(from('198.51.100.0/25', '2001:db8::/32'));
        const next = ['tcp', 'udp'].flatMap((each) => [`53/${each} from ${two}`, `53/${each} from 2001:db8::/32`]);
        assert.equal(await rules(), `in ${next.join(', ')}`);
        await ensure(from());
        assert.equal(await rules(), 'in 53/tcp from 0.0.0.0/0, 53/udp from 0.0.0.0/0');
      });
    });

    test('named security groups replace the managed one, and can be removed again', async () => {
      const tags = { owner: 'somebody' };
      const vpc = await peer.ec2.vpcOf(peer.subnets[0] ?? '', signal);
      const named = await peer.ec2.createSecurityGroup({ name: 'of-others', description: 'test', vpc, tags }, signal);
      const other = serviceWith('80/TCP', { annotations: { [`${prefix}-security-groups`]: named } });
      const groups = async (): Promise<readonly string[] | undefined> =>
        (await peer.elb.describeLoadBalancers({})).LoadBalancers?.[0]?.SecurityGroups;
      await during(serviceWith('80/TCP'), async () => {
        const own = await found();
        await ensure(other);
        assert.deepEqual(await groups(), [named]);
        assert.deepEqual(await found(), own.slice(0, -1), 'its own is gone');
        await ensure(serviceWith('80/TCP'));
        assert.deepEqual(await found(), own);
      });
      await retrying(() => peer.ec2.deleteSecurityGroup(named, signal));
    });

    test('removing twice succeeds', async () => {
      await during(serviceWith('80/TCP'), () => retrying(() => provider.remove(serviceWith('80/TCP'), signal)));
    });
  });
}

/** The ports of a listener. */
const split = (listener: string): readonly string[] => {
  const [port = '', protocol = ''] = listener.split('/');
  return protocol.split('_').map((each) => `${port}/${each}`);
};
