// The life of Pods on a machine, seen through kubectl.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import type { PodView } from './stand.ts';
import { isAlive, isReady, nodeName, podObject, processContainer, Stand } from './stand.ts';

const serve = `require('http').createServer((q, r) => r.end(process.env.POD_NAME)).listen(8080, process.env.POD_IP);`;

describe('fairlead agent', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start(['--zone', 'z1', '--region', 'r1', '--node-labels', 'rack=7']);
  });
  after(() => stand[Symbol.asyncDispose]());

  const pidsOf = async (uid: string): Promise<readonly number[]> => {
    const record = JSON.parse(await readFile(`${stand.state}/pods/${uid}/record.json`, 'utf8')) as {
      containers: Record<string, { current: { pid: number } }>;
    };
    return Object.values(record.containers).map(({ current }) => current.pid);
  };

  test('registers a Node with addresses, labels and conditions, and renews its Lease', async () => {
    const node = JSON.parse(await stand.must('get', 'node', nodeName, '-o', 'json')) as {
      metadata: { uid: string; labels: Record<string, string> };
      status: { addresses: object; conditions: { type: string; status: string; reason: string }[]; capacity: object };
    };
    assert.partialDeepStrictEqual(node.metadata.labels, {
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': 'linux',
      'topology.kubernetes.io/zone': 'z1',
      'topology.kubernetes.io/region': 'r1',
      rack: '7',
    });
    assert.deepEqual(node.status.addresses, [
      { type: 'InternalIP', address: '127.0.0.1' },
      { type: 'Hostname', address: nodeName },
    ]);
    assert.deepEqual(
      node.status.conditions.map(({ type }) => type),
      ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'],
    );
    assert.partialDeepStrictEqual(node.status.capacity, { pods: '110' });
    const lease = JSON.parse(await stand.must('get', 'lease', nodeName, '-n', 'kube-node-lease', '-o', 'json')) as {
      metadata: { ownerReferences: { uid: string }[] };
      spec: { holderIdentity: string; leaseDurationSeconds: number };
    };
    assert.equal(lease.metadata.ownerReferences[0]?.uid, node.metadata.uid);
    assert.partialDeepStrictEqual(lease.spec, { holderIdentity: nodeName, leaseDurationSeconds: 40 });
  });

  test('runs a Pod from its creation to its deletion', async () => {
    const web = processContainer('web', ['node', '-e', `${serve} console.log('up')`]);
    await stand.create(podObject('web', { containers: [web] }));
    const pod = await stand.podUntil('web', 'is ready', isReady);
    assert.equal(pod.status.phase, 'Running');
    assert.match(pod.status.podIP ?? '', /^127\.192\./);
    const text = await until('it answers', () =>
      fetch(`http://${pod.status.podIP}:8080/`).then(
        (answer) => answer.text(),
        () => undefined,
      ),
    );
    assert.equal(text, 'web');
    const [pid = 0] = await pidsOf(pod.metadata.uid);
    const log = await until('its output is logged', () =>
      readFile(`${stand.state}/pods/${pod.metadata.uid}/logs/web/0.log`, 'utf8').catch(() => undefined),
    );
    assert.match(log, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F up\n$/);
    await stand.must('delete', 'pod', 'web');
    assert.equal(await isAlive(pid), false);
    const events = await stand.must(
      'get',
      'events',
      '-o',
      'jsonpath={range .items[*]}{.reason} {.involvedObject.fieldPath}{"\\n"}{end}',
    );
    for (const reason of ['Pulled', 'Created', 'Started', 'Killing'])
      assert.match(events, new RegExp(`^${reason} spec\\.containers\\{web\\}$`, 'm'));
  });

  test('a container that exits is restarted, first at once and then with a delay', async () => {
    await stand.create(podObject('crash', { containers: [processContainer('c', ['sh', '-c', 'exit 3'])] }));
    const isDelayed = ({ status }: PodView): boolean =>
      status.containerStatuses?.[0]?.state.waiting?.reason === 'CrashLoopBackOff';
    const { status } = await stand.podUntil('crash', 'waits', isDelayed);
    const [container] = status.containerStatuses ?? [];
    assert.equal(status.phase, 'Running');
    assert.equal(container?.restartCount, 1);
    assert.equal(container?.lastState.terminated?.exitCode, 3);
    assert.match(
      container?.state.waiting?.message ?? '',
      /^back-off 10s restarting failed container=c pod=crash_default\(/,
    );
    assert.match(await stand.must('get', 'pod', 'crash'), /0\/1 +CrashLoopBackOff +1/);
    await stand.must('delete', 'pod', 'crash');
  });

  test('a Pod that ends reports its phase, and init containers run before it', async () => {
    const spec = (command: readonly string[]): object => ({
      restartPolicy: 'Never',
      initContainers: [processContainer('first', ['true']), processContainer('second', ['true'])],
      containers: [processContainer('c', command)],
    });
    await stand.create(podObject('good', spec(['true'])), podObject('bad', spec(['false'])));
    const good = await stand.podUntil('good', 'has ended', ({ status }) => status.phase === 'Succeeded');
    const bad = await stand.podUntil('bad', 'has ended', ({ status }) => status.phase === 'Failed');
    assert.equal(good.status.containerStatuses?.[0]?.state.terminated?.reason, 'Completed');
    assert.equal(bad.status.containerStatuses?.[0]?.state.terminated?.exitCode, 1);
    assert.deepEqual(
      good.status.initContainerStatuses?.map(({ state }) => state.terminated?.exitCode),
      [0, 0],
    );
    await stand.must('delete', 'pod', 'good', 'bad');
  });

  test('a program that does not exist, and an image that is not mapped, are reported', async () => {
    await stand.create(
      podObject('missing', { containers: [processContainer('c', ['no-such-program'])] }),
      podObject('image', { containers: [{ name: 'c', image: 'nginx' }] }),
    );
    const missing = await stand.podUntil(
      'missing',
      'failed',
      ({ status }) => status.containerStatuses?.some(({ lastState }) => lastState.terminated !== undefined) === true,
    );
    assert.deepEqual(missing.status.containerStatuses?.[0]?.lastState.terminated?.exitCode, 128);
    assert.match(
      missing.status.containerStatuses?.[0]?.lastState.terminated?.message ?? '',
      /exec: "no-such-program": executable file not found in \$PATH/,
    );
    const image = await stand.podUntil(
      'image',
      'waits',
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'ErrImagePull',
    );
    assert.equal(image.status.phase, 'Pending');
    assert.match(
      image.status.containerStatuses?.[0]?.state.waiting?.message ?? '',
      /"nginx" is not mapped: start its agent with --image-map 'nginx=PATH'/,
    );
    await stand.podUntil(
      'image',
      'is tried again',
      ({ status }) => status.containerStatuses?.[0]?.state.waiting?.reason === 'ImagePullBackOff',
    );
    const events = await stand.must('get', 'events', '--field-selector', 'involvedObject.name=image', '-o', 'name');
    const fields = ['--field-selector', 'involvedObject.name=image,reason=ImageNotMapped'];
    assert.equal(events.trim().split('\n').length, 1);
    assert.match(await stand.must('get', 'events', ...fields, '-o', 'jsonpath={.items[*].count}'), /^1?$/);
    await stand.must('delete', 'pod', 'missing', 'image');
  });

  test('a process that ignores SIGTERM, and daemons that left its session, are killed', async () => {
    const script = `trap '' TERM; setsid sleep 4711 & while :; do sleep 0.1; done`;
    await stand.create(
      podObject('stubborn', {
        terminationGracePeriodSeconds: 1,
        containers: [processContainer('c', ['sh', '-c', script])],
      }),
    );
    const pod = await stand.podUntil('stubborn', 'is ready', isReady);
    const [pid = 0] = await pidsOf(pod.metadata.uid);
    const daemon = await until('the daemon runs', async () => {
      const { out } = await run('ps', ['-eo', 'pid,args']);
      const [, found] = /^ *(\d+) +sleep 4711$/m.exec(out) ?? [];
      return found === undefined ? undefined : Number(found);
    });
    const started = performance.now();
    await stand.must('delete', 'pod', 'stubborn');
    assert.ok(performance.now() - started > 900);
    assert.equal(await isAlive(pid), false);
    await until('the daemon is killed', async () => !(await isAlive(daemon)));
  });

  test('processes survive the agent, which adopts them without a restart', async () => {
    await stand.create(podObject('steady', { containers: [processContainer('c', ['node', '-e', serve])] }));
    const before = await stand.podUntil('steady', 'is ready', isReady);
    const [pid = 0] = await pidsOf(before.metadata.uid);
    await stand.stopAgent('SIGKILL');
    assert.equal(await isAlive(pid), true);
    await stand.startAgent();
    const after = await stand.podUntil('steady', 'is ready', isReady);
    assert.deepEqual(
      [after.status.containerStatuses?.[0]?.restartCount, after.status.containerStatuses?.[0]?.containerID],
      [0, before.status.containerStatuses?.[0]?.containerID],
    );
    process.kill(pid, 'SIGKILL');
    const restarted = await stand.podUntil(
      'steady',
      'was restarted',
      ({ status }) => status.containerStatuses?.[0]?.restartCount === 1 && status.containerStatuses[0].ready,
    );
    assert.equal(restarted.status.containerStatuses?.[0]?.lastState.terminated?.exitCode, 137);
    await stand.must('delete', 'pod', 'steady');
  });

  test('a Pod that was deleted while no agent ran is stopped by the next one', async () => {
    await stand.create(podObject('orphan', { containers: [processContainer('c', ['sleep', '1000'])] }));
    const pod = await stand.podUntil('orphan', 'is ready', isReady);
    const [pid = 0] = await pidsOf(pod.metadata.uid);
    await stand.stopAgent('SIGTERM');
    await stand.must('delete', 'pod', 'orphan', '--grace-period=0', '--force');
    assert.equal(await isAlive(pid), true);
    await stand.startAgent();
    await until('its process has ended', async () => !(await isAlive(pid)));
  });
});
