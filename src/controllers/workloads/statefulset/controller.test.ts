import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import { statefulSetKind } from '../../../api/kinds/apps/statefulset/kind.ts';
import type { StatefulSet } from '../../../api/kinds/apps/statefulset/schema.ts';
import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { until } from '../../../server/testing/until.ts';
import type { Workloads } from '../testing/workloads.ts';
import { namespace, startWorkloads, templateOf } from '../testing/workloads.ts';

const name = { namespace, name: 'db' };

const setOf = (spec: object = {}): StatefulSet =>
  // A cast because the server sets the other fields.
  ({
    metadata: name,
    spec: {
      serviceName: 'db',
      replicas: 3,
      selector: { matchLabels: { app: 'db' } },
      template: templateOf('db'),
      ...spec,
    },
  }) as unknown as StatefulSet;

const get = ({ user }: Workloads): Promise<StatefulSet> => user.get(statefulSetKind, name);

/** Name and image of each Pod. */
const podsOf = async (workloads: Workloads): Promise<readonly string[]> =>
  (await workloads.pods('app=db'))
    .map(({ metadata, spec }) => `${metadata.name} ${spec.containers?.[0]?.image}`)
    .toSorted();

const rolledOut = (workloads: Workloads): Promise<unknown> =>
  until('the rollout is complete', async () => {
    const { metadata, spec, status } = await get(workloads);
    return (
      status.observedGeneration === metadata.generation &&
      status.readyReplicas === spec.replicas &&
      status.currentRevision === status.updateRevision
    );
  });

suite('StatefulSets', () => {
  test('Pods have stable names, and replacing their template starts with the highest ordinal', async () => {
    const order: string[] = [];
    await using workloads = await startWorkloads({
      fate(pod) {
        const text = `${pod.metadata.name} ${pod.spec.containers?.[0]?.image}`;
        if (!order.includes(text)) order.push(text);
        return 'ready';
      },
    });
    await workloads.user.create(statefulSetKind, setOf());
    await rolledOut(workloads);
    assert.deepEqual(order, ['db-0 web:1', 'db-1 web:1', 'db-2 web:1']);
    const [first] = await workloads.pods('app=db');
    assert.deepEqual([first?.spec.hostname, first?.spec.subdomain], ['db-0', 'db']);
    assert.equal(first?.metadata.labels?.['apps.kubernetes.io/pod-index'], '0');
    order.length = 0;
    const body = { spec: { template: templateOf('db', 'web:2') } };
    await workloads.user.patch(statefulSetKind, name, { body });
    await rolledOut(workloads);
    assert.deepEqual(order, ['db-2 web:2', 'db-1 web:2', 'db-0 web:2']);
    const { status } = await get(workloads);
    assert.deepEqual([status.replicas, status.currentReplicas, status.updatedReplicas], [3, 3, 3]);
  });

  test('scaling down removes the highest ordinals', async () => {
    await using workloads = await startWorkloads();
    await workloads.user.create(statefulSetKind, setOf());
    await rolledOut(workloads);
    await workloads.user.patch(statefulSetKind, name, { body: { spec: { replicas: 1 } } });
    await until('one Pod', async () => (await podsOf(workloads)).join() === 'db-0 web:1');
    await rolledOut(workloads);
  });

  test('a partition keeps the Pods below it, also when they are created again', async () => {
    await using workloads = await startWorkloads();
    const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition: 2 } };
    await workloads.user.create(statefulSetKind, setOf({ updateStrategy }));
    await until('three are ready', async () => (await get(workloads)).status.readyReplicas === 3);
    await workloads.user.patch(statefulSetKind, name, { body: { spec: { template: templateOf('db', 'web:2') } } });
    const want = 'db-0 web:1,db-1 web:1,db-2 web:2';
    await until('one is updated', async () => (await podsOf(workloads)).join() === want);
    await workloads.user.delete(podKind, { namespace, name: 'db-0' });
    await until('it is created again', async () => {
      const { status } = await get(workloads);
      return status.readyReplicas === 3 && (await podsOf(workloads)).join() === want;
    });
  });

  test('a Pod that has failed is created again under its name', async () => {
    let hasFailed = false;
    await using workloads = await startWorkloads({
      fate(pod) {
        if (pod.metadata.name !== 'db-1' || hasFailed || pod.status.phase !== 'Pending') return 'ready';
        hasFailed = true;
        return 'fail';
      },
    });
    await workloads.user.create(statefulSetKind, setOf());
    await rolledOut(workloads);
    assert.ok(hasFailed);
  });

  test('with the policy Parallel no Pod waits for another', async () => {
    await using workloads = await startWorkloads({ fate: () => 'unready' });
    await workloads.user.create(statefulSetKind, setOf({ podManagementPolicy: 'Parallel' }));
    await until('three Pods', async () => (await podsOf(workloads)).length === 3);
  });

  test('a template that was current before makes its revision the last one', async () => {
    await using workloads = await startWorkloads();
    await workloads.user.create(statefulSetKind, setOf({ replicas: 1 }));
    await rolledOut(workloads);
    const first = (await get(workloads)).status.currentRevision;
    for (const image of ['web:2', 'web:1']) {
      await workloads.user.patch(statefulSetKind, name, { body: { spec: { template: templateOf('db', image) } } });
      await until(`the image ${image}`, async () => (await podsOf(workloads)).join() === `db-0 ${image}`);
      await rolledOut(workloads);
    }
    assert.equal((await get(workloads)).status.currentRevision, first);
  });
});
