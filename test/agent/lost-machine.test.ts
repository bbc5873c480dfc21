// A machine that is lost and comes back, beside one that is not lost and a Node without an agent.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { FairleadProcess } from '../harness/process.ts';
import { isReady, nodeName, podObject, processContainer, Stand } from './stand.ts';

const withinMs = 60_000;

describe('a machine that is lost', () => {
  let stand: Stand;
  let second: FairleadProcess | undefined;
  let controllers: FairleadProcess | undefined;

  const startControllers = async (...flags: readonly string[]): Promise<void> => {
    const access = ['--kubeconfig', stand.kubeconfig, '--context', 'east'];
    const own = ['--node-monitor-grace-period', '13s', '--health-port', '0', '--leader-elect=false'];
    controllers = new FairleadProcess(['controllers', ...access, ...own, ...flags]);
    await controllers.ready();
  };

  before(async () => {
    stand = await Stand.start([], { parts: 'server' });
    const kubeconfig = await stand.addNode('machine-2');
    const isRoot = process.getuid?.() === 0;
    const own = [
      '--kubeconfig',
      kubeconfig,
      '--node-name',
      'machine-2',
      '--root-dir',
      join(stand.directory, 'second'),
      '--node-ip',
      '127.0.0.1',
      '--listen',
      '127.0.0.1:0',
      '--health-port',
      '0',
    ];
    second = new FairleadProcess(['agent', ...own, ...(isRoot ? ['--allow-root'] : [])]);
    await second.ready();
    const conditions = [{ type: 'Ready', status: 'True' }];
    await stand.create({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'by-hand' }, status: { conditions } });
    await startControllers();
  });
  after(async () => {
    if (stand?.agent.hasEnded === false) process.kill(stand.agent.pid, 'SIGCONT');
    await stand?.[Symbol.asyncDispose]();
    await second?.stop('SIGKILL');
    await controllers?.stop('SIGKILL');
  });

  const readyOf = async (node: string): Promise<string> => {
    const path = '{.status.conditions[?(@.type=="Ready")].status}';
    return (await stand.kubectl('get', 'node', node, '-o', `jsonpath=${path}`)).out;
  };
  const becomes = (node: string, status: string): Promise<unknown> =>
    until(`${node} is ${status}`, async () => (await readyOf(node)) === status, withinMs);

  test('has Pods that are not ready and are evicted; when it returns it ends these and continues with the others', async () => {
    const toleration = { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' };
    const containers = [processContainer('c', ['sleep', '1000'])];
    await stand.create(
      podObject('evicted', { containers, tolerations: [{ ...toleration, tolerationSeconds: 1 }] }),
      podObject('kept', { containers, tolerations: [toleration] }),
    );
    for (const name of ['evicted', 'kept']) await stand.podUntil(name, 'is ready', isReady);
    process.kill(stand.agent.pid, 'SIGSTOP');
    await becomes(nodeName, 'Unknown');
    assert.equal(await readyOf('machine-2'), 'True');
    await stand.podUntil('kept', 'is not ready', (pod) => !isReady(pod));
    await stand.podUntil('evicted', 'is evicted', ({ metadata }) => metadata.deletionTimestamp !== undefined);
    process.kill(stand.agent.pid, 'SIGCONT');
    await becomes(nodeName, 'True');
    await until('the evicted Pod is gone', async () => (await stand.pod('evicted')) === undefined, withinMs);
    const kept = await stand.podUntil('kept', 'is ready again', isReady);
    assert.equal(kept.metadata.deletionTimestamp, undefined);
    assert.equal(kept.status.containerStatuses?.[0]?.restartCount, 0);
    await until('taints are removed', async () => {
      const { out } = await stand.kubectl('get', 'node', nodeName, '-o', 'jsonpath={.spec.taints}');
      return out === '' || out === '[]';
    });
  });

  test('a Node without a Lease is left alone, unless all Nodes are managed', async () => {
    assert.equal(await readyOf('by-hand'), 'True');
    await controllers?.stop('SIGTERM');
    await startControllers('--manage-all-nodes');
    await becomes('by-hand', 'Unknown');
    assert.equal(await readyOf('machine-2'), 'True');
  });
});
