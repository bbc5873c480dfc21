// Probes and hooks of Pods on a machine, seen through kubectl.
import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { isReady, podObject, processContainer, Stand } from './stand.ts';

/** A server that is healthy while a file exists. */
const server = `
const { existsSync } = require('fs');
require('http').createServer((q, r) => {
  r.statusCode = existsSync('healthy') ? 200 : 503;
  r.end();
}).listen(8080, process.env.POD_IP);`;

describe('probes', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start();
  });
  after(() => stand[Symbol.asyncDispose]());

  const work = (uid: string): string => `${stand.state}/pods/${uid}/work`;

  test('a Pod is ready only after a successful probe, and while probes succeed', async () => {
    const readinessProbe = {
      httpGet: { path: '/', port: 'http' },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    const ports = [{ name: 'http', containerPort: 8080 }];
    await stand.create(
      podObject('web', { containers: [processContainer('web', ['node', '-e', server], { readinessProbe, ports })] }),
    );
    const started = await stand.podUntil('web', 'runs', ({ status }) => status.phase === 'Running');
    assert.equal(isReady(started), false);
    await until('a failed probe is reported', async () =>
      (await stand.must('get', 'events')).includes('Readiness probe failed: HTTP probe failed with statuscode: 503'),
    );
    assert.equal((await stand.pod('web'))?.status.containerStatuses?.[0]?.ready, false);
    await writeFile(`${work(started.metadata.uid)}/healthy`, '');
    await stand.podUntil('web', 'is ready', isReady);
    await rm(`${work(started.metadata.uid)}/healthy`);
    const unready = await stand.podUntil('web', 'is not ready', (pod) => !isReady(pod));
    assert.equal(unready.status.containerStatuses?.[0]?.restartCount, 0);
    await stand.must('delete', 'pod', 'web');
  });

  test('a failing liveness probe restarts the container, by a command in its context', async () => {
    const livenessProbe = {
      exec: { command: ['sh', '-c', 'test ! -e broken'] },
      periodSeconds: 1,
      failureThreshold: 1,
    };
    const script = 'rm -f broken; sleep 1000';
    await stand.create(
      podObject('live', {
        containers: [processContainer('c', ['sh', '-c', script], { livenessProbe })],
        terminationGracePeriodSeconds: 1,
      }),
    );
    const pod = await stand.podUntil('live', 'is ready', isReady);
    await writeFile(`${work(pod.metadata.uid)}/broken`, '');
    await stand.podUntil('live', 'was restarted', ({ status }) => status.containerStatuses?.[0]?.restartCount === 1);
    const events = await stand.must('get', 'events');
    assert.match(events, /Liveness probe failed/);
    assert.match(events, /Container c failed liveness probe, will be restarted/);
    await stand.must('delete', 'pod', 'live');
  });

  test('the other probes wait for the startup probe', async () => {
    const startupProbe = { tcpSocket: { port: 8080 }, periodSeconds: 1, failureThreshold: 60 };
    const script = `setTimeout(() => require('net').createServer().listen(8080, process.env.POD_IP), 1500)`;
    await stand.create(
      podObject('slow', { containers: [processContainer('c', ['node', '-e', script], { startupProbe })] }),
    );
    const pod = await stand.podUntil('slow', 'runs', ({ status }) => status.phase === 'Running');
    assert.equal(isReady(pod), false);
    await stand.podUntil('slow', 'is ready', isReady);
    await stand.must('delete', 'pod', 'slow');
  });

  test('hooks run after the start and before SIGTERM, and a termination message is reported', async () => {
    const script = `trap 'echo ended >> order; echo bye > $TERMINATION_MESSAGE_PATH; exit 1' TERM; while :; do sleep 0.1; done`;
    const lifecycle = {
      postStart: { exec: { command: ['sh', '-c', 'echo started >> order'] } },
      preStop: { exec: { command: ['sh', '-c', 'echo stopping >> order; cp order ../../../order'] } },
    };
    await stand.create(
      podObject(
        'hooks',
        { containers: [processContainer('c', ['sh', '-c', script], { lifecycle })] },
        { finalizers: ['example.org/keep'] },
      ),
    );
    await stand.podUntil('hooks', 'is ready', isReady);
    await stand.must('delete', 'pod', 'hooks', '--wait=false');
    const { status } = await stand.podUntil('hooks', 'has ended', (pod) => pod.status.phase === 'Failed');
    assert.deepEqual(
      [
        status.containerStatuses?.[0]?.state.terminated?.exitCode,
        status.containerStatuses?.[0]?.state.terminated?.message,
      ],
      [1, 'bye\n'],
    );
    await stand.must('patch', 'pod', 'hooks', '--type=merge', '-p', '{"metadata":{"finalizers":null}}');
    assert.equal(await readFile(`${stand.state}/order`, 'utf8'), 'started\nstopping\n');
  });
});
