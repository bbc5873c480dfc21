// LB-22 with the controller at work: at every cloud a Service is set up as specified, or refused in every place that tells.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import type { Service } from '../../api/kinds/core/service/schema.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import type { TestCluster } from '../cluster.fixture.ts';
import { clusterOf } from '../cluster.fixture.ts';
import { clouds } from '../providers/clouds.ts';
import { openPorts } from '../providers/resource.ts';
import { eagerClock } from './storm.fixture.ts';

const sets = { numbers: '80/TCP 81/UDP', number: '53/TCP 53/UDP', three: '53/TCP 53/UDP 9000/SCTP', udp: '53/UDP' };

/** What a Service and its cloud say: served, refused, or neither yet. */
async function standing(cluster: TestCluster, name: string, ports: string): Promise<'served' | 'refused' | undefined> {
  const service = await cluster.get(name);
  const [entry] = service?.status.loadBalancer.ingress ?? [];
  const told = (entry?.ports ?? []).map(({ port, protocol }) => `${port}/${protocol}`).join(' ');
  if (service === undefined || told !== ports) return undefined;
  const open = (entry?.ports ?? []).filter(({ error }) => error === undefined);
  const balancer = (await cluster.balancers()).find(({ spec }) => spec.service.name === name);
  const resources = (balancer?.spec.resources ?? []).map(({ settings = {}, ...rest }) => ({ ...rest, settings }));
  const served = openPorts(resources);
  assert.deepEqual(
    (entry?.portStatuses ?? []).map(({ ready }) => ready),
    (entry?.ports ?? []).map(({ error }) => error === undefined),
  );
  for (const { port, protocol } of open) assert.ok(served.has(`${port}/${protocol}`), `${name}: ${port}/${protocol}`);
  if (isRefused(service)) {
    assert.notEqual(open.length, entry?.ports?.length, `${name}: a refused Service has a port that is refused`);
    assert.equal(entry?.ip === undefined, balancer === undefined, `${name}: an address is that of a load balancer`);
    return 'refused';
  }
  if (open.length !== entry?.ports?.length) return undefined;
  assert.equal(entry.ip, balancer?.spec.address);
  return 'served';
}

const isRefused = ({ status }: Service): boolean =>
  status.conditions?.some(({ type, status: value }) => type === 'LoadBalancerPortsError' && value === 'True') === true;

const circumstances: readonly { readonly how: string; readonly isGateOn?: boolean; readonly failures?: number }[] = [
  { how: 'all well' },
  { how: 'the gate off', isGateOn: false },
  { how: 'a fifth of calls failing', failures: 0.2 },
];

for (const { name: cloud } of clouds) {
  for (const { how, isGateOn = true, failures = 0 } of circumstances) {
    test(`LB-22 ${cloud}, ${how}: new and changed Services are served or refused, and leave nothing`, async () => {
      await using server = await testServer();
      const cluster = clusterOf(server);
      await using running = cluster.start({
        simulation: { cloud, era: 'today', failures },
        gates: { enabled: () => isGateOn },
        clock: eagerClock,
      });
      await running.ready;
      const all = Object.entries(sets).flatMap(([name, ports]) => [
        { name: `new-${name}`, ports },
        { name: `was-${name}`, ports },
      ]);
      for (const { name, ports } of all) await cluster.create(name.startsWith('new') ? ports : '80/TCP', { name });
      for (const { name, ports } of all) {
        if (name.startsWith('new')) continue;
        await until(`${name} has an address`, () => cluster.address(name));
        await cluster.setPorts(name, ports);
      }
      for (const { name, ports } of all) {
        const stands = await until(`${name} is served or refused`, () => standing(cluster, name, ports));
        if (stands === 'served' || failures > 0) continue; // an object that fails a lot has no room for more Events
        await until(`${name} has its Events`, async () =>
          (await cluster.reasons(name)).includes('SyncLoadBalancerFailed'),
        );
      }
      await Promise.all(all.map(({ name }) => cluster.delete(name)));
      await until('nothing is left', async () => (await cluster.balancers()).length === 0);
      for (const { name } of all) await until(`${name} is gone`, async () => (await cluster.get(name)) === undefined);
    });
  }
}
