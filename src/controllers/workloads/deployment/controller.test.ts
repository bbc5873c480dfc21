import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { deploymentKind } from '../../../api/kinds/apps/deployment/kind.ts';
import type { Deployment } from '../../../api/kinds/apps/deployment/schema.ts';
import { replicaSetKind } from '../../../api/kinds/apps/replicaset/kind.ts';
import type { ReplicaSet } from '../../../api/kinds/apps/replicaset/kind.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { eventKind } from '../../../api/kinds/core/event/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { compareText } from '../../../api/order.ts';
import { inProcess } from '../../../client/in-process.ts';
import type { TestServer } from '../../../server/testing/server.ts';
import { testServer } from '../../../server/testing/server.ts';
import { until } from '../../../server/testing/until.ts';
import type { Fate } from '../../testing/agent.ts';
import { readyNode, startAgent } from '../../testing/agent.ts';
import { TestCluster } from '../../testing/cluster.ts';

const user = { name: 'controllers', uid: '', groups: ['system:masters', 'system:authenticated'] };
const namespace = 'default';
const name = { namespace, name: 'web' };

const clusterOf = (server: TestServer): TestCluster =>
  new TestCluster(() => inProcess((request) => server.handle({ ...request, user })));

const options = { controllers: ['*', 'workloads'] };

const deploymentOf = (spec: object = {}): Deployment =>
  // A cast because the server sets the other fields.
  ({
    metadata: name,
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      ...spec,
    },
  }) as unknown as Deployment;

const setImage = (cluster: TestCluster, image: string): Promise<Deployment> =>
  cluster.user.patch(deploymentKind, name, {
    body: { spec: { template: { spec: { containers: [{ name: 'web', image }] } } } },
    type: 'strategic',
  });

const get = (cluster: TestCluster): Promise<Deployment> => cluster.user.get(deploymentKind, name);
const podsOf = async (cluster: TestCluster): Promise<readonly Pod[]> =>
  (await cluster.user.list(podKind, { namespace, labelSelector: 'app=web' })).items;
const setsOf = async (cluster: TestCluster): Promise<readonly ReplicaSet[]> =>
  (await cluster.user.list(replicaSetKind, { namespace })).items;

/** Whether `kubectl rollout status` would succeed. */
function isRolledOut({ metadata, spec, status }: Deployment): boolean {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0, observedGeneration = 0 } = status;
  return (
    (metadata.generation ?? 0) <= observedGeneration &&
    updatedReplicas >= (spec.replicas ?? 1) &&
    replicas <= updatedReplicas &&
    availableReplicas >= updatedReplicas
  );
}
const rolledOut = (cluster: TestCluster): Promise<unknown> =>
  until('the rollout is complete', async () => isRolledOut(await get(cluster)));

const progressOf = ({ status }: Deployment) => status.conditions?.find(({ type }) => type === 'Progressing');

suite('Deployments', () => {
  test('a Deployment runs on the nodes, and a second rollout replaces its Pods within its limits', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    for (const node of ['n1', 'n2', 'n3']) await readyNode(cluster.user, node);
    await using agent = startAgent({ client: cluster.user });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf());
    await rolledOut(cluster);
    const pods = await podsOf(cluster);
    assert.deepEqual(new Set(pods.map(({ spec }) => spec.nodeName)), new Set(['n1', 'n2', 'n3']));
    const [first] = await setsOf(cluster);
    assert.match(first?.metadata.name ?? '', /^web-[bcdfghjklmnpqrstvwxz2456789]+$/);
    assert.equal(first?.metadata.annotations?.['deployment.kubernetes.io/revision'], '1');
    await setImage(cluster, 'web:2');
    await rolledOut(cluster);
    const sets = await setsOf(cluster);
    assert.deepEqual(
      sets
        .map(({ metadata, spec, status }) =>
          [metadata.annotations?.['deployment.kubernetes.io/revision'], spec.replicas, status.replicas].join(' '),
        )
        .toSorted(compareText),
      ['1 0 0', '2 3 3'],
    );
    const deployment = await get(cluster);
    assert.equal(deployment.metadata.annotations?.['deployment.kubernetes.io/revision'], '2');
    assert.deepEqual(
      [progressOf(deployment)?.reason, progressOf(deployment)?.message],
      [
        'NewReplicaSetAvailable',
        `ReplicaSet "${sets.find(({ spec }) => spec.replicas === 3)?.metadata.name}" has successfully progressed.`,
      ],
    );
    await until('the Events of scaling', async () => {
      const { items } = await cluster.user.list(eventKind, {
        namespace,
        fieldSelector: 'involvedObject.kind=Deployment',
      });
      return items.filter(({ reason }) => reason === 'ScalingReplicaSet').length >= 4;
    });
    agent.refresh();
  });

  test('a rollout back to an old template reuses its ReplicaSet with the next revision', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await readyNode(cluster.user, 'n1');
    await using _agent = startAgent({ client: cluster.user });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf());
    await rolledOut(cluster);
    await setImage(cluster, 'web:2');
    await rolledOut(cluster);
    await setImage(cluster, 'web:1');
    await rolledOut(cluster);
    const sets = await setsOf(cluster);
    assert.equal(sets.length, 2);
    const current = sets.find(({ spec }) => spec.replicas === 3);
    assert.equal(current?.metadata.annotations?.['deployment.kubernetes.io/revision'], '3');
    assert.equal(current.metadata.annotations['deployment.kubernetes.io/revision-history'], '1');
  });

  test('a rollout whose Pods do not become ready keeps the old Pods and reports when its deadline passes', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await readyNode(cluster.user, 'n1');
    const fate = ({ spec }: Pod): Fate => (spec.containers?.[0]?.image === 'web:2' ? 'unready' : 'ready');
    await using _agent = startAgent({ client: cluster.user, fate });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf({ replicas: 4, progressDeadlineSeconds: 1 }));
    await rolledOut(cluster);
    await setImage(cluster, 'web:2');
    await until(
      'the deadline passes',
      async () => progressOf(await get(cluster))?.reason === 'ProgressDeadlineExceeded',
    );
    const { status } = await get(cluster);
    assert.deepEqual([status.readyReplicas, status.updatedReplicas, status.unavailableReplicas], [3, 2, 2]);
    assert.equal(status.conditions?.find(({ type }) => type === 'Available')?.status, 'True');
    await setImage(cluster, 'web:3');
    await rolledOut(cluster);
  });

  test('the strategy Recreate never runs two templates at once', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await readyNode(cluster.user, 'n1');
    const images = new Set<string>();
    await using _agent = startAgent({ client: cluster.user });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf({ strategy: { type: 'Recreate' } }));
    await rolledOut(cluster);
    await setImage(cluster, 'web:2');
    await until('the rollout is complete', async () => {
      images.clear();
      for (const { spec } of await podsOf(cluster)) images.add(spec.containers?.[0]?.image ?? '');
      assert.ok(images.size < 2, [...images].join());
      return isRolledOut(await get(cluster));
    });
  });

  test('scaling to 200 and back to 1 leaves the wanted Pods', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    for (const node of ['n1', 'n2']) await readyNode(cluster.user, node);
    await using _agent = startAgent({ client: cluster.user });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf({ replicas: 1 }));
    await rolledOut(cluster);
    for (const replicas of [200, 1]) {
      await cluster.user.patch(deploymentKind, name, { body: { spec: { replicas } } });
      await rolledOut(cluster);
      await until(`${replicas} Pods`, async () => (await podsOf(cluster)).length === replicas);
    }
  });

  test('a paused Deployment scales and does not roll out', async () => {
    await using server = await testServer();
    const cluster = clusterOf(server);
    await readyNode(cluster.user, 'n1');
    await using _agent = startAgent({ client: cluster.user });
    await using running = cluster.start(options);
    await running.ready;
    await cluster.user.create(deploymentKind, deploymentOf());
    await rolledOut(cluster);
    await cluster.user.patch(deploymentKind, name, { body: { spec: { paused: true } } });
    await until('the pause is reported', async () => progressOf(await get(cluster))?.reason === 'DeploymentPaused');
    await setImage(cluster, 'web:2');
    await cluster.user.patch(deploymentKind, name, { body: { spec: { replicas: 5 } } });
    await until('five Pods', async () => (await podsOf(cluster)).length === 5);
    assert.equal((await setsOf(cluster)).length, 1);
    await cluster.user.patch(deploymentKind, name, { body: { spec: { paused: false } } });
    await rolledOut(cluster);
    assert.equal((await setsOf(cluster)).length, 2);
  });
});
