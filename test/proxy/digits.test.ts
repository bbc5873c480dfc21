// A Service whose name starts with a digit, in front of a DNS server, used in every way; without any rights.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import type { Fairlead } from '../harness/fairlead.ts';
import { startFairlead, temporaryDirectory } from '../harness/fairlead.ts';
import { findKubectls } from '../harness/kubectl.ts';
import { unless, unlessInstalled } from '../harness/needs.ts';
import { giveToNobody, NobodysNetwork, whyNotNobody } from '../harness/nobody.ts';

/** The Pods of the demo answer DNS queries on port 5300 with their name. */
const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: '9-names' },
  spec: {
    type: 'LoadBalancer',
    selector: { app: 'shop' },
    ports: ['TCP', 'UDP'].map((protocol) => ({
      name: `dns-${protocol.toLowerCase()}`,
      protocol,
      port: 53,
      targetPort: 5300,
      srvServiceName: 'domain',
    })),
  },
};
const serviceExport = {
  apiVersion: 'multicluster.k8s.io/v1alpha1',
  kind: 'ServiceExport',
  metadata: { name: '9-names' },
};

describe('a name that starts with a digit', { skip: unless(whyNotNobody()) || unlessInstalled('dig') }, () => {
  const stack = new AsyncDisposableStack();
  const local = '9-names.demo.svc.cluster.local';
  let network: NobodysNetwork;
  let fairlead: Fairlead;
  let kubectl = '';
  /** The DNS servers of the two clusters, as arguments of dig. */
  let east: readonly string[] = [];
  let west: readonly string[] = [];

  const k = async (args: readonly string[], input?: unknown): Promise<string> => {
    const env = { KUBECONFIG: fairlead.kubeconfig, HOME: '/nonexistent' };
    const given = input === undefined ? {} : { input: JSON.stringify(input) };
    const { out, err, code } = await network.run([kubectl, '-n', 'demo', ...args], { env, ...given });
    assert.equal(code, 0, err);
    return out;
  };
  const dig = async (...words: readonly string[]): Promise<string> =>
    (await network.run(['dig', '+short', '+time=1', '+tries=1', ...words])).out.trim();
  /** Queries a server at port 53 with both protocols until each answers. */
  async function answersBoth(at: string, by: string): Promise<void> {
    for (const [flag, protocol] of [
      ['+notcp', 'UDP'],
      ['+tcp', 'TCP'],
    ] as const) {
      const want = new RegExp(`^"shop-[a-z\\d-]+ of ${by}, over ${protocol}"$`);
      await until(`${at} answers by ${protocol}`, async () => want.test(await dig(`@${at}`, flag, 'TXT', 'whoami')));
    }
  }

  before(async () => {
    const { path } = stack.use(await temporaryDirectory());
    await giveToNobody(path);
    network = stack.use(new NobodysNetwork());
    network.freeLowPorts();
    kubectl = (await findKubectls())[0]?.path ?? '';
    fairlead = stack.use(await startFairlead(path, ['up', '--demo'], { within: network.within }));
    await fairlead.process.prints(/old-shop\.demo.*\n/);
    const servers = fairlead.process.out.matchAll(/ dns ([\d.]+):(\d+) /g);
    [east = [], west = []] = Array.from(servers, ([, address, port = '']) => [`@${address}`, '-p', port]);
    await k(['create', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [service, serviceExport] });
  });
  after(() => stack.disposeAsync());

  test('NAME-7 has an address, SRV records for both protocols, and a PTR record', async () => {
    const address = await until('the Service has an address', async () => (await dig(...east, local)) || undefined);
    for (const protocol of ['tcp', 'udp'])
      assert.equal(await dig(...east, 'SRV', `_domain._${protocol}.${local}`), `0 100 53 ${local}.`);
    assert.equal(await dig(...east, '-x', address), `${local}.`);
    await answersBoth(address, 'east');
  });

  test('NAME-8 LB-9 a load balancer answers dig on 53/UDP and 53/TCP', async () => {
    const field = 'jsonpath={.status.loadBalancer.ingress[0].ip}';
    const read = (): Promise<string> => k(['get', 'service', '9-names', '-o', field]);
    await answersBoth(await until('the Service has a load balancer', async () => (await read()) || undefined), 'east');
  });

  test('NAME-8 MCS-162 is exported, and answers in another cluster', async () => {
    const everywhere = '9-names.demo.svc.supercluster.local';
    const address = await until('west resolves the name', async () => (await dig(...west, everywhere)) || undefined);
    assert.match(address, /^127\.129\./);
    await answersBoth(address, 'east');
  });

  test('NAME-4 is the backend of an Ingress', async () => {
    const rule = '--rule=names.example.org/*=9-names:53';
    assert.equal(await k(['create', 'ingress', 'names', rule]), 'ingress.networking.k8s.io/names created\n');
  });
});
