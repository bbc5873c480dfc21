import assert from 'node:assert/strict';
import { suite, test } from 'node:test';

import type { DaemonSet } from '../../../api/kinds/apps/daemonset/kind.ts';
import { daemonSetKind } from '../../../api/kinds/apps/daemonset/kind.ts';
import { nodeKind } from '../../../api/kinds/core/node/kind.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { until } from '../../../server/testing/until.ts';
import type { Fate } from '../../testing/agent.ts';
import { readyNode } from '../../testing/agent.ts';
import type { Workloads } from '../testing/workloads.ts';
import { namespace, startWorkloads, templateOf } from '../testing/workloads.ts';

const name = { namespace, name: 'agent' };

const setOf = (spec: object = {}): DaemonSet =>
  // A cast because the server sets the other fields.
  ({
    metadata: name,
    spec: { selector: { matchLabels: { app: 'agent' } }, template: templateOf('agent'), ...spec },
  }) as unknown as DaemonSet;

/** Node and image of each Pod. */
const podsOf = async (workloads: Workloads): Promise<string> =>
  (await workloads.pods('app=agent'))
    .map(({ spec }) => `${spec.nodeName} ${spec.containers?.[0]?.image}`)
    .toSorted()
    .join();

const statusOf = async ({ user }: Workloads): Promise<DaemonSet['status']> =>
  (await user.get(daemonSetKind, name)).status;

suite('DaemonSets', () => {
  test('every ready node runs one Pod, a new node and a cordoned node included', async () => {
    await using workloads = await startWorkloads({ nodes: ['n1', 'n2'] });
    await workloads.user.create(daemonSetKind, setOf());
    await until('two Pods', async () => (await podsOf(workloads)) === 'n1 web:1,n2 web:1');
    await workloads.user.patch(nodeKind, { name: 'n1' }, { body: { spec: { unschedulable: true } } });
    await readyNode(workloads.user, 'n3');
    await until('three Pods', async () => (await podsOf(workloads)) === 'n1 web:1,n2 web:1,n3 web:1');
    await until('three are available', async () => (await statusOf(workloads)).numberAvailable === 3);
    const { desiredNumberScheduled, currentNumberScheduled, numberMisscheduled } = await statusOf(workloads);
    assert.deepEqual([desiredNumberScheduled, currentNumberScheduled, numberMisscheduled], [3, 3, 0]);
  });

  test('a node that no longer fits loses its Pod', async () => {
    await using workloads = await startWorkloads({ nodes: ['n1', 'n2'] });
    await workloads.user.patch(nodeKind, { name: 'n1' }, { body: { metadata: { labels: { disk: 'ssd' } } } });
    await workloads.user.create(
      daemonSetKind,
      setOf({ template: templateOf('agent', 'web:1', { nodeSelector: { disk: 'ssd' } }) }),
    );
    await until('one Pod', async () => (await podsOf(workloads)) === 'n1 web:1');
    await workloads.user.patch(nodeKind, { name: 'n1' }, { body: { metadata: { labels: { disk: null } } } });
    await until('no Pod', async () => (await podsOf(workloads)) === '');
  });

  test('a new template replaces the Pods of one node after another, and stops at Pods that are not ready', async () => {
    const fate = ({ spec }: Pod): Fate => (spec.containers?.[0]?.image === 'web:2' ? 'unready' : 'ready');
    await using workloads = await startWorkloads({ nodes: ['n1', 'n2', 'n3'], fate });
    await workloads.user.create(daemonSetKind, setOf());
    await until('three are available', async () => (await statusOf(workloads)).numberAvailable === 3);
    const change = (image: string): Promise<DaemonSet> =>
      workloads.user.patch(daemonSetKind, name, { body: { spec: { template: templateOf('agent', image) } } });
    await change('web:2');
    await until('one is replaced', async () => (await podsOf(workloads)).includes('web:2'));
    await until('one is unavailable', async () => (await statusOf(workloads)).numberUnavailable === 1);
    assert.equal((await podsOf(workloads)).split(',').filter((text) => text.endsWith('web:2')).length, 1);
    await change('web:3');
    await until('all are replaced', async () => (await podsOf(workloads)) === 'n1 web:3,n2 web:3,n3 web:3');
    await until('all are counted', async () => (await statusOf(workloads)).updatedNumberScheduled === 3);
  });

  test('with a surge the old Pod stays until the new one is available', async () => {
    const fate = ({ spec }: Pod): Fate => (spec.containers?.[0]?.image === 'web:2' ? 'unready' : 'ready');
    await using workloads = await startWorkloads({ nodes: ['n1'], fate });
    const updateStrategy = { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };
    await workloads.user.create(daemonSetKind, setOf({ updateStrategy }));
    await until('it is available', async () => (await statusOf(workloads)).numberAvailable === 1);
    const change = (image: string): Promise<DaemonSet> =>
      workloads.user.patch(daemonSetKind, name, { body: { spec: { template: templateOf('agent', image) } } });
    await change('web:2');
    await until('two Pods', async () => (await podsOf(workloads)) === 'n1 web:1,n1 web:2');
    await change('web:3');
    await until('only the last', async () => (await podsOf(workloads)) === 'n1 web:3');
  });

  test('a Pod that has failed is replaced and reported', async () => {
    let failures = 0;
    const fate = ({ status }: Pod): Fate => (status.phase === 'Pending' && failures++ === 0 ? 'fail' : 'ready');
    await using workloads = await startWorkloads({ nodes: ['n1'], fate });
    await workloads.user.create(daemonSetKind, setOf());
    await until('it is available', async () => (await statusOf(workloads)).numberAvailable === 1);
    await until('the Event', async () => (await workloads.reasons('DaemonSet')).includes('FailedDaemonPod'));
  });
});
