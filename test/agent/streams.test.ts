// Logs, commands and forwarded ports of Pods on a machine, through an agent with the rights of its node, by kubectl only.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';

import { until } from '../../src/server/testing/until.ts';
import { run } from '../harness/command.ts';
import { podObject, processContainer, Stand } from './stand.ts';

describe('streams of an agent', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start();
    const script = 'echo "started $POD_NAME"; trap "echo stopping; exit 3" TERM; while :; do sleep 0.1; done';
    await stand.create(podObject('web', { containers: [processContainer('main', ['sh', '-c', script])] }));
    await stand.podUntil('web', 'runs', ({ status }) => status.phase === 'Running');
  });
  after(() => stand[Symbol.asyncDispose]());

  test('logs shows what the process has printed', async () => {
    await until(
      'the first line is in the log',
      async () => (await stand.kubectl('logs', 'web')).out === 'started web\n',
    );
    const { out } = await stand.kubectl('logs', 'web', '--timestamps', '--tail=1');
    assert.match(out, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z started web\n$/);
    assert.match(
      (await stand.kubectl('logs', 'web', '--previous')).err,
      /previous terminated container "main" in pod "web" not found/,
    );
  });

  test('exec runs in the context of the container and returns the exit code', async () => {
    const { out, code } = await stand.kubectl('exec', 'web', '--', 'sh', '-c', 'echo "$POD_NAME"; exit 7');
    assert.deepEqual([out, code], ['web\n', 7]);
    const missing = await stand.kubectl('exec', 'web', '--', '/does/not/exist');
    assert.match(missing.err, /error executing command in container: .*\/does\/not\/exist/);
  });

  test('exec -t has a terminal of the size of the client', async () => {
    const command = 'stty rows 33 cols 101; exec "$0" "$@"';
    const kubectl = stand.kubectlLine('exec', '-it', 'web', '--', 'sh', '-c', 'sleep 1; tty; stty size; exit 5');
    const { out, code } = await run('script', ['-qec', `sh -c '${command}' ${kubectl}`, '/dev/null']);
    assert.match(out, /\/dev\/pts\/\d+\r?\n33 101\r?\n/);
    assert.equal(code, 5);
  });

  test('top shows the Pod and the Node', async () => {
    assert.match((await stand.kubectl('top', 'pod')).out, /\nweb +\d+m +\d+Mi/);
    assert.match((await stand.kubectl('top', 'node')).out, /\nmachine-1 +\d+m +\d+% +\d+Mi/);
  });

  test('a user who may only read can run no command', async () => {
    await stand.must('create', 'rolebinding', 'reader', '--clusterrole=view', '--user=reader');
    const refused = await stand.kubectl('--as=reader', 'exec', 'web', '--', 'true');
    assert.match(refused.err, /User "reader" cannot (?:get|create) resource "pods\/exec"/);
    assert.equal((await stand.kubectl('--as=reader', 'logs', 'web')).code, 0);
  });

  test('after the agent is killed and started again, streams work', async () => {
    await stand.stopAgent('SIGKILL');
    const lost = await stand.kubectl('exec', 'web', '--', 'true');
    assert.match(lost.err, /error dialing backend: dial tcp/);
    await stand.startAgent();
    await until('a command runs again', async () => (await stand.kubectl('exec', 'web', '--', 'true')).code === 0);
  });
});
