// Two replicas of `fairlead controllers`, of which the leader is killed during its work.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import { until } from '../../src/server/testing/until.ts';
import { leaseKind } from '../../src/api/kinds/coordination/lease/kind.ts';
import { serviceKind } from '../../src/api/kinds/core/service/kind.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import { Client } from '../../src/client/client.ts';
import { overHttps } from '../../src/client/https.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { FairleadProcess } from '../harness/process.ts';
import { FairleadServer } from '../harness/server.ts';
import { askHealth, controllersKubeconfig, startControllers } from './controllers-process.ts';
import { createReadyPod, createService } from './workload.ts';

const namespace = 'default';
const services = 150;
const podsEach = 2;
const leaseMs = 3000;
const retryMs = 500;
/** The time until a takeover: the lease duration plus the retry period. */
const boundMs = leaseMs + retryMs * (1 + 1.2) + 2000;
/** Additional time on a busy machine. */
const busyMs = 10_000;
const election = ['--leader-elect-lease-duration', '3s', '--leader-elect-renew-deadline', '2s'];
const flags = [...election, '--leader-elect-retry-period', '500ms'];

const isLeader = async (part: FairleadProcess): Promise<boolean> =>
  /^leader_election_master_status\{name="fairlead-controllers"\} 1$/m.test((await askHealth(part, '/metrics')).text);

describe('two replicas of the controllers', () => {
  const stack = new AsyncDisposableStack();
  let client: Client;
  let replicas: FairleadProcess[];
  before(async () => {
    const server = stack.use(await FairleadServer.start(['--store', 'memory']));
    const kubeconfig = await controllersKubeconfig(server.directory);
    client = stack.use(new Client(overHttps(await readKubeconfig({ paths: [server.kubeconfig] }))));
    replicas = [1, 2].map(() => stack.use(startControllers(kubeconfig, flags)));
    await Promise.all(replicas.map((replica) => replica.ready()));
  });
  after(() => stack.disposeAsync());

  const slices = async (): Promise<readonly EndpointSlice[]> =>
    (await client.list(endpointSliceKind, { namespace, labelSelector: 'kubernetes.io/service-name!=kubernetes' }))
      .items;
  const serviceOf = ({ metadata }: EndpointSlice): string => metadata.labels?.['kubernetes.io/service-name'] ?? '';
  const revisions = (found: readonly EndpointSlice[]): Map<string, string> =>
    new Map(found.map(({ metadata }) => [metadata.uid ?? '', metadata.resourceVersion ?? '']));

  test('one is the leader, and both are ready', async () => {
    await until('one replica is the leader', async () => {
      const leads = await Promise.all(replicas.map(isLeader));
      return leads.filter((does) => does).length === 1;
    });
    for (const replica of replicas) assert.equal((await askHealth(replica, '/readyz')).status, 200);
  });

  test('after the leader is killed during a change, the other converges within the bound and repeats nothing', async () => {
    const names = Array.from({ length: services }, (_, index) => `s${index}`);
    await Promise.all(
      names.flatMap((app, index) =>
        Array.from({ length: podsEach }, (_, pod) =>
          createReadyPod(client, app, `${app}-${pod}`, `10.1.${index}.${pod + 1}`),
        ),
      ),
    );
    const [first, second] = (await isLeader(replicas[0] ?? assert.fail())) ? replicas : replicas.toReversed();
    assert.ok(first !== undefined && second !== undefined);

    const creating = Promise.all(names.slice(0, services / 2).map((name) => createService(client, name)));
    await until('the work has begun', async () => (await slices()).length > services / 10);
    await first.stop('SIGKILL');
    const killedAt = performance.now();
    await creating;
    // After these responses, the requests of the killed leader are complete too.
    await Promise.all(names.slice(services / 2).map((name) => createService(client, name)));
    // The last of these are deleted while there is no leader: their dependents must be deleted later.
    await Promise.all(names.slice(0, 10).map((name) => client.delete(serviceKind, { namespace, name })));
    const left = names.slice(10);
    const before = revisions(await slices());
    assert.ok(before.size < services, 'it was killed before all was done');

    await until('the other replica is the leader', () => isLeader(second));
    assert.ok(performance.now() - killedAt < boundMs + busyMs, `${performance.now() - killedAt} ms`);
    await until('every Service has its endpoints', async () => {
      const found = await slices();
      return found.length === left.length && found.every(({ endpoints }) => endpoints?.length === podsEach);
    });
    assert.ok(performance.now() - killedAt < boundMs + 5000 + 2 * busyMs, `${performance.now() - killedAt} ms`);

    const found = await slices();
    assert.deepEqual(new Set(found.map(serviceOf)), new Set(left), 'one slice for each Service, and none beside');
    const kept = found.filter(({ metadata }) => before.has(metadata.uid ?? ''));
    const rewritten = kept.filter(({ metadata }) => before.get(metadata.uid ?? '') !== metadata.resourceVersion);
    assert.deepEqual(rewritten.map(serviceOf), [], 'what was right was not written again');
    assert.ok(kept.length > 0);

    const settled = revisions(found);
    await delay(1000);
    assert.deepEqual(revisions(await slices()), settled, 'nothing is written once all is done');
  });

  test('a stopped leader releases the lease at once', async () => {
    const leader = replicas.find((replica) => !replica.hasEnded) ?? assert.fail('both have ended');
    await leader.stop('SIGTERM');
    const lease = await client.get(leaseKind, { namespace: 'kube-system', name: 'fairlead-controllers' });
    assert.equal(lease.spec.holderIdentity ?? '', '');
  });
});
