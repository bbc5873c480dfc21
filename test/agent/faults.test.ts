// What users meet when processes, machines and disks fail, seen through kubectl.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { isAlive, isReady, podObject, processContainer, Stand } from './stand.ts';

/** Processes of this command line that are not zombies. */
async function processesOf(commandLine: string): Promise<readonly number[]> {
  const { out } = await run('ps', ['-eo', 'pid,stat,args']);
  return out.split('\n').flatMap((line) => {
    const [, pid, state = '', args] = /^ *(\d+) +(\S+) +(.*)$/.exec(line) ?? [];
    return args === commandLine && !state.startsWith('Z') ? [Number(pid)] : [];
  });
}

describe('an agent with many Pods', () => {
  let stand: Stand;
  before(async () => {
    const logs = ['--container-log-max-size', '64Ki', '--container-log-max-files', '3'];
    stand = await Stand.start(['--max-pods', '250', ...logs]);
  });
  after(() => stand[Symbol.asyncDispose]());

  const orders = [
    ['agent', 'process', 'server'],
    ['agent', 'server', 'process'],
    ['process', 'agent', 'server'],
    ['process', 'server', 'agent'],
    ['server', 'agent', 'process'],
    ['server', 'process', 'agent'],
  ] as const;
  for (const [index, order] of orders.entries()) {
    test(`a Pod runs again, once, after kill -9 of ${order.join(', ')}`, async () => {
      const [name, seconds] = [`killed-${index}`, `${47_100 + index}`];
      await stand.create(podObject(name, { containers: [processContainer('c', ['sleep', seconds])] }));
      await stand.podUntil(name, 'is ready', isReady);
      const [pid = 0] = await processesOf(`sleep ${seconds}`);
      for (const target of order) {
        if (target === 'agent') await stand.stopAgent('SIGKILL');
        else if (target === 'server') await stand.stopServer('SIGKILL');
        else process.kill(pid, 'SIGKILL');
      }
      await stand.startServer();
      await stand.startAgent();
      await stand.podUntil(
        name,
        'has restarted',
        (pod) =>
          // Twice if the agent was killed while it started the process again.
          isReady(pod) && (pod.status.containerStatuses?.[0]?.restartCount ?? 0) >= 1,
      );
      const all = await processesOf(`sleep ${seconds}`);
      assert.equal(all.length, 1);
      assert.notEqual(all[0], pid);
      await stand.must('delete', 'pod', name, '--grace-period=1');
      assert.deepEqual(await processesOf(`sleep ${seconds}`), []);
    });
  }

  test('200 Pods become ready on one machine, and nothing of them is left when they are deleted', async () => {
    const before = (await readdir(join(stand.state, 'pods'))).length;
    const names = Array.from({ length: 200 }, (_, index) => `many-${index}`);
    await stand.create(
      ...names.map((name) =>
        podObject(
          name,
          { terminationGracePeriodSeconds: 1, containers: [processContainer('c', ['sleep', '47200'])] },
          { labels: { app: 'many' } },
        ),
      ),
    );
    // `kubectl wait` sends five requests per second.
    const ready = 'jsonpath={.items[*].status.conditions[?(@.type=="Ready")].status}';
    await until('all Pods are ready', async () => {
      const states = await stand.must('get', 'pods', '-l', 'app=many', '-o', ready);
      return states.split(' ').filter((state) => state === 'True').length === names.length;
    });
    const ips = await stand.must('get', 'pods', '-l', 'app=many', '-o', 'jsonpath={.items[*].status.podIP}');
    assert.equal(new Set(ips.split(' ')).size, names.length);
    await stand.must('delete', 'pods', '-l', 'app=many', '--wait=false');
    await until('all processes have ended', async () => (await processesOf('sleep 47200')).length === 0);
    await until(
      'all directories are removed',
      async () => (await readdir(join(stand.state, 'pods'))).length === before,
    );
  });

  test('a process that fills its log uses a bounded space, and its last lines are kept', async () => {
    const script = 'seq 1000000; exec sleep 1000';
    await stand.create(podObject('chatty', { containers: [processContainer('c', ['sh', '-c', script])] }));
    const { metadata } = await stand.podUntil('chatty', 'is ready', isReady);
    await until('the last line', async () => (await stand.kubectl('logs', 'chatty', '--tail=1')).out === '1000000\n');
    const directory = join(stand.state, 'pods', metadata.uid, 'logs', 'c');
    const sizes = await Promise.all(
      (await readdir(directory)).map(async (file) => (await stat(join(directory, file))).size),
    );
    assert.ok(sizes.length <= 3, `${sizes.length} files`);
    // A file exceeds the limit by what was read at once.
    assert.ok(Math.max(...sizes) < 4 << 20, `${sizes.join(', ')} bytes`);
  });
});

describe('an agent on a full disk', { skip: process.getuid?.() !== 0 && 'root must mount a file system' }, () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start([], {
      prepare: async (directory) => {
        await mkdir(directory);
        const { code, err } = await run('mount', ['-t', 'tmpfs', '-o', 'size=4m,mode=711', 'tmpfs', directory]);
        assert.equal(code, 0, err);
      },
    });
  });
  after(async () => {
    if (stand === undefined) return;
    await stand.stop();
    await run('umount', ['--lazy', stand.state]);
    await stand[Symbol.asyncDispose]();
  });

  test('keeps its Pods, reports why others cannot start, and starts them when there is space', async () => {
    const script = 'while :; do echo line; sleep 0.05; done';
    await stand.create(podObject('before', { containers: [processContainer('c', ['sh', '-c', script])] }));
    const before = await stand.podUntil('before', 'is ready', isReady);
    const record = JSON.parse(
      await readFile(join(stand.state, 'pods', before.metadata.uid, 'record.json'), 'utf8'),
    ) as {
      containers: { c: { current: { pid: number } } };
    };
    const filler = join(stand.state, 'filler');
    await writeFile(filler, Buffer.alloc(8 << 20)).catch(() => undefined); // as far as there is space
    await until('the Node reports pressure', async () => {
      const path = '{.status.conditions[?(@.type=="DiskPressure")].status}';
      return (await stand.kubectl('get', 'node', 'machine-1', '-o', `jsonpath=${path}`)).out === 'True';
    });
    await stand.create(
      podObject('during', {
        tolerations: [{ operator: 'Exists' }],
        containers: [processContainer('c', ['sleep', '1000'])],
      }),
    );
    await until('an Event has the reason', async () =>
      /no space left on device/.test(
        (await stand.kubectl('get', 'events', '--field-selector', 'involvedObject.name=during')).out,
      ),
    );
    assert.equal(await isAlive(record.containers.c.current.pid), true);
    assert.equal((await stand.pod('before'))?.status.containerStatuses?.[0]?.restartCount, 0);
    await run('rm', [filler]);
    await stand.podUntil('during', 'is ready', isReady);
    await until('lines are written again', async () => {
      const { out } = await stand.kubectl('logs', 'before', '--tail=1', '--since=1s');
      return out === 'line\n';
    });
  });
});
