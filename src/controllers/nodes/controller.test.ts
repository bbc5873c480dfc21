import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';

import { leaseKind } from '../../api/kinds/coordination/lease/kind.ts';
import type { Lease } from '../../api/kinds/coordination/lease/kind.ts';
import { eventKind } from '../../api/kinds/core/event/kind.ts';
import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { podKind } from '../../api/kinds/core/pod/kind.ts';
import { inProcess } from '../../client/in-process.ts';
import { ManualClock } from '../../client/testing/clocks.ts';
import type { TestServer } from '../../server/testing/server.ts';
import { testServer } from '../../server/testing/server.ts';
import { until } from '../../server/testing/until.ts';
import type { Process } from '../testing/cluster.ts';
import { quiet, TestCluster } from '../testing/cluster.ts';

const controllers = { name: 'system:fairlead:controllers', uid: '', groups: ['system:authenticated'] };
const administrator = { name: 'admin', uid: '', groups: ['system:masters', 'system:authenticated'] };

describe('nodes that report', () => {
  let server: TestServer;
  let admin: TestCluster;
  let cluster: TestCluster;
  let clock: ManualClock;
  let running: Process;
  let renewals = 0;

  before(async () => (server = await testServer()));
  after(() => server[Symbol.asyncDispose]());
  beforeEach(async () => {
    const clusterAs = (who: typeof controllers): TestCluster =>
      new TestCluster(() => inProcess((request) => server.handle({ ...request, user: who })));
    clock = new ManualClock(1_800_000_000_000);
    admin = clusterAs(administrator);
    cluster = clusterAs(controllers);
    running = cluster.start({ controllers: ['node-lifecycle-controller', 'taint-eviction-controller'], clock });
    await running.ready;
  });
  afterEach(async () => {
    await running[Symbol.asyncDispose]();
    const { user } = admin;
    const now = { gracePeriodSeconds: 0 };
    for (const { metadata } of (await user.list(podKind)).items) {
      await user.delete(podKind, { namespace: 'default', name: metadata.name ?? '' }, now);
    }
    for (const { metadata } of (await user.list(nodeKind)).items) {
      const name = metadata.name ?? '';
      await user.delete(nodeKind, { name });
      await user.delete(leaseKind, { namespace: 'kube-node-lease', name });
    }
  });

  /** Lets time pass in steps, in which nodes renew their Leases. */
  const pass = async (seconds: number, renewing: readonly string[] = []): Promise<void> => {
    for (let left = seconds; left > 0; left -= 5) {
      for (const name of renewing) await renew(name);
      await clock.advance(5000);
      await quiet(cluster, 10);
    }
  };

  const renew = async (name: string): Promise<void> => {
    const renewTime = `2026-01-01T00:00:00.${String(++renewals).padStart(6, '0')}Z`;
    const at = { namespace: 'kube-node-lease', name };
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
    await admin.user.apply(leaseKind, { metadata: at, spec } as Lease);
  };

  const setReady = (name: string, status: string): Promise<unknown> => {
    const times = { lastHeartbeatTime: '2026-01-01T00:00:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' };
    const body = { status: { conditions: [{ type: 'Ready', status, ...times, reason: 'KubeletReady' }] } };
    return admin.user.patch(nodeKind, { name }, { body, type: 'strategic', subresource: 'status' });
  };

  const join = async (name: string): Promise<void> => {
    await admin.node(name);
    await setReady(name, 'True');
    await renew(name);
  };

  /** The status of the condition Ready and the effects of the taints of a node. */
  const stateOf = async (name: string): Promise<string> => {
    const { spec, status } = await admin.user.get(nodeKind, { name });
    const ready = status.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'none';
    const taints = (spec.taints ?? []).map(({ key, effect }) => `${key.replace('node.kubernetes.io/', '')}:${effect}`);
    return [ready, ...taints].join(' ');
  };
  const becomes = (name: string, state: string): Promise<unknown> =>
    until(`${name} is ${state}`, async () => (await stateOf(name)) === state);

  test('are left alone while they renew their Lease', async () => {
    await join('a');
    cluster.takeWrites();
    await pass(120, ['a']);
    assert.equal(await stateOf('a'), 'True');
    assert.deepEqual(cluster.takeWrites(), []);
  });

  test('are not ready 50 s after the last renewal, with their Pods, and ready again with the next one', async () => {
    await join('a');
    await join('b');
    await admin.pod('on-a', 'web', { ip: '10.1.0.1', node: 'a' });
    await admin.pod('on-b', 'web', { ip: '10.1.0.2', node: 'b' });
    await pass(45, ['b']);
    assert.equal(await stateOf('a'), 'True');
    await pass(20, ['b']);
    await becomes('a', 'Unknown unreachable:NoSchedule unreachable:NoExecute');
    const readiness = async (name: string): Promise<string | undefined> =>
      (await admin.user.get(podKind, { namespace: 'default', name })).status.conditions?.find(
        ({ type }) => type === 'Ready',
      )?.status;
    await until('the Pod of the node is not ready', async () => (await readiness('on-a')) === 'False');
    assert.equal(await readiness('on-b'), 'True');
    const events = (await admin.user.list(eventKind)).items.map(
      ({ reason, involvedObject }) => `${reason} ${involvedObject.name}`,
    );
    assert.ok(events.includes('NodeNotReady a') && events.includes('NodeNotReady on-a'), events.join());
    await setReady('a', 'True');
    await renew('a');
    await becomes('a', 'True');
    assert.equal(await stateOf('b'), 'True');
  });

  test('keep running Pods while all nodes are silent', async () => {
    await join('a');
    await pass(70);
    await becomes('a', 'Unknown unreachable:NoSchedule');
    await pass(300);
    assert.equal(await stateOf('a'), 'Unknown unreachable:NoSchedule');
  });

  test('keep running Pods that were to be evicted when the last node is lost', async () => {
    await join('a');
    await join('b');
    await pass(65, ['b']);
    await becomes('a', 'Unknown unreachable:NoSchedule unreachable:NoExecute');
    await pass(80);
    await becomes('b', 'Unknown unreachable:NoSchedule');
    await becomes('a', 'Unknown unreachable:NoSchedule');
  });

  test('have the whole grace period after the controller was paused', async () => {
    await join('a');
    await pass(10, ['a']);
    clock.stall(600_000);
    await pass(30);
    assert.equal(await stateOf('a'), 'True');
    await pass(40);
    await becomes('a', 'Unknown unreachable:NoSchedule');
  });

  test('lose their Pods after the time that these tolerate', async () => {
    await join('a');
    await join('b');
    const tolerating = (tolerationSeconds: number) => ({
      spec: {
        tolerations: [
          { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute', tolerationSeconds },
        ],
      },
    });
    for (const [name, seconds] of Object.entries({ brief: 30, patient: 100_000 })) {
      const containers = [{ name: 'c', image: 'i' }];
      const spec = { nodeName: 'a', containers, ...tolerating(seconds).spec };
      await admin.user.create(podKind, { metadata: { namespace: 'default', name }, spec } as unknown as Pod);
    }
    const pods = async (): Promise<string> =>
      (await admin.user.list(podKind)).items
        .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
        .map(({ metadata }) => metadata.name)
        .join();
    await pass(65, ['b']);
    await becomes('a', 'Unknown unreachable:NoSchedule unreachable:NoExecute');
    await pass(5, ['b']);
    assert.equal(await pods(), 'brief,patient');
    await pass(40, ['b']);
    await until('one Pod is evicted', async () => (await pods()) === 'patient');
    const evicted = await admin.user.get(podKind, { namespace: 'default', name: 'brief' });
    assert.equal(
      evicted.status.conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason,
      'DeletionByTaintManager',
    );
  });

  test('without a Lease are left alone', async () => {
    await admin.node('by-hand');
    await setReady('by-hand', 'True');
    await pass(300);
    assert.equal(await stateOf('by-hand'), 'True');
  });

  test('are repelled as they report that they are not ready', async () => {
    await join('a');
    await join('b');
    await setReady('a', 'False');
    await pass(10, ['a', 'b']);
    await becomes('a', 'False not-ready:NoSchedule not-ready:NoExecute');
  });
});
