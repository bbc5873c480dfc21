// 5,000 Services in one zone: a publisher that is killed while it writes, and a server that is down meanwhile.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';

import type { Service } from '../../src/api/kinds/core/service/schema.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import { until } from '../../src/server/testing/until.ts';
import { unlessInstalled } from '../harness/needs.ts';
import type { FairleadProcess } from '../harness/process.ts';
import { askHealth } from '../parts/controllers-process.ts';
import type { PrimaryServer } from './servers.ts';
import type { PublisherStand } from './stand.ts';
import { startStand } from './stand.ts';

const count = 5000;
const namespace = 'default';
const addressOf = (index: number, block = 0): string => `198.${18 + block}.${index >> 8}.${index & 255}`;

/** A Service whose external IP is published, which needs no load balancer. */
const serviceOf = (index: number): Service => ({
  metadata: { namespace, name: `s-${index}`, annotations: { 'fairlead.dev/hostname': `s-${index}.example.org` } },
  spec: {
    type: 'LoadBalancer',
    loadBalancerClass: 'example.org/none',
    allocateLoadBalancerNodePorts: false,
    externalIPs: [addressOf(index)],
    ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
  },
  status: { loadBalancer: {} },
});

/** Runs `each` for all numbers below `to`, a hundred at a time. */
async function forAll(to: number, each: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < to) await each(next++);
  };
  await Promise.all(Array.from({ length: 100 }, worker));
}

/** The records of the zone by type. */
async function recordsOf(primary: PrimaryServer): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const line of await primary.records()) {
    const type = line.split(' ')[3] ?? '';
    counts.set(type, (counts.get(type) ?? 0) + 1);
  }
  return counts;
}

async function metric(publisher: FairleadProcess, name: string): Promise<number> {
  const { text } = await askHealth(publisher, '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** The records of the zone as it was, and of all Services. */
const complete = { A: 2 + count, SRV: count, TXT: 2 * count, NS: 1, MX: 1 };

async function isComplete(primary: PrimaryServer): Promise<boolean> {
  const counts = await recordsOf(primary);
  return Object.entries(complete).every(([type, wanted]) => counts.get(type) === wanted);
}

/** A stand with all Services, and its client. */
async function startLarge(
  maker: 'BIND' | 'Knot',
  stack: AsyncDisposableStack,
): Promise<{ readonly stand: PublisherStand; readonly client: Client }> {
  const stand = stack.use(await startStand(maker, { serverFlags: ['--service-cluster-ip-range', '10.96.0.0/16'] }));
  const client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [stand.server.kubeconfig] }))));
  await forAll(count, (index) => client.create(serviceKind, serviceOf(index)));
  return { stand, client };
}

/** Moves the first Services to other addresses. */
const move = (client: Client, services: number, block: number): Promise<void> =>
  forAll(services, (index) => {
    const body = { spec: { externalIPs: [addressOf(index, block)] } };
    return client.patch(serviceKind, { namespace, name: `s-${index}` }, { body });
  });

const skip = unlessInstalled('named', 'knotd', 'dig');

describe('the names of 5,000 Services', { skip, concurrency: 2 }, () => {
  test('with Knot: a publisher that is killed while it writes is continued by the next', async () => {
    await using stack = new AsyncDisposableStack();
    const { stand, client } = await startLarge('Knot', stack);
    const first = await stand.publish();
    await until('some names are published', async () => ((await recordsOf(stand.primary)).get('SRV') ?? 0) > 0);
    await first.stop('SIGKILL');
    await stand.publish();
    await until('all names are published', () => isComplete(stand.primary));
    await move(client, 100, 1);
    await stand.waitFor('s-99', 'A', [`A ${addressOf(99, 1)}`]);
    await forAll(100, (index) => client.delete(serviceKind, { namespace, name: `s-${index}` }));
    await until('the deleted are gone', async () => (await recordsOf(stand.primary)).get('SRV') === count - 100);
    assert.match(await stand.plan(), /^nothing to change$/m);
  });

  test('with BIND: nothing is lost while the server is down for many attempts', async () => {
    await using stack = new AsyncDisposableStack();
    const { stand, client } = await startLarge('BIND', stack);
    const publisher = await stand.publish();
    await until('all names are published', () => isComplete(stand.primary));
    await stand.primary.stop();
    await move(client, 200, 1);
    const failures = (): Promise<number> => metric(publisher, 'external_dns_controller_consecutive_soft_errors');
    // Attempts are further and further apart, up to 10 s.
    await until('several attempts have failed', async () => (await failures()) >= 5);
    await move(client, 100, 0);
    const logged = publisher.err.split('\n').filter((line) => line.includes('records are not published'));
    assert.ok(logged.length <= 2, `each cause is logged once: ${logged.join('\n')}`);
    await stand.primary.start();
    await stand.waitFor('s-99', 'A', [`A ${addressOf(99)}`]);
    await stand.waitFor('s-199', 'A', [`A ${addressOf(199, 1)}`]);
    await until('nothing else has changed', () => isComplete(stand.primary));
    assert.match(await stand.plan(), /^nothing to change$/m);
    assert.equal(await failures(), 0);
  });
});
