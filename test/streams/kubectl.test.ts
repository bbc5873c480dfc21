// kubectl's streams, over both transports, through an API server to the server of a node. Containers are plain processes.

import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises';
import type { Server } from 'node:http';
import { createServer, get } from 'node:http';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';

import type { TestCluster } from '../../src/agent/api/testing/cluster.ts';
import { startTestCluster } from '../../src/agent/api/testing/cluster.ts';
import type { Attachment } from '../../src/agent/pods/runtime.ts';
import type { CommandOptions, Result, Running } from '../harness/command.ts';
import { run, start } from '../harness/command.ts';
import type { Kubectl } from '../harness/kubectl.ts';
import { findKubectls } from '../harness/kubectl.ts';

const kubectls = await findKubectls();

const webSocketSwitches = ['KUBECTL_REMOTE_COMMAND_WEBSOCKETS', 'KUBECTL_PORT_FORWARD_WEBSOCKETS'];
const transports = [
  { transport: 'WebSocket', env: Object.fromEntries(webSocketSwitches.map((name) => [name, 'true'])) },
  { transport: 'SPDY', env: Object.fromEntries(webSocketSwitches.map((name) => [name, 'false'])) },
];

const time = (): string => `${new Date().toISOString().slice(0, -1)}000000Z`;

for (const kubectl of kubectls) {
  for (const { transport, env } of transports) {
    describe(`kubectl ${kubectl.version} over ${transport}`, () => streams(kubectl, env));
  }
}

function streams({ path }: Kubectl, env: Readonly<Record<string, string>>): void {
  let cluster: TestCluster;
  let log = '';
  let files: string[] = [];
  let listener: Server;
  let port = 0;

  before(async () => {
    cluster = await startTestCluster({ loopbackEndpoints: ['127.0.0.0/8'] });
    const at = (name: string): string => join(cluster.directory, name);
    log = at('0.log');
    files = [log];
    await writeFile(log, Array.from({ length: 10 }, (_, index) => `${time()} stdout F line ${index}\n`).join(''));
    await writeFile(at('previous.log'), `${time()} stdout F last words\n`);
    await cluster.createPod('web', [
      {
        name: 'main',
        logFiles: async (instance) => (instance === 'current' ? files : [at('previous.log')]),
        lastContainerId: 'process://0',
      },
      { name: 'second' },
      { name: 'echo', attach: echoing },
    ]);
    listener = createServer((request, response) => {
      if (request.url !== '/page') {
        response.end(`you asked for ${request.url ?? ''}\n`);
        return;
      }
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<a href="/there">there</a>\n');
    });
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  });
  after(async () => {
    listener.close();
    await cluster[Symbol.asyncDispose]();
  });

  const options = (more: CommandOptions = {}): CommandOptions => ({
    ...more,
    env: { ...env, KUBECONFIG: cluster.kubeconfig, ...more.env },
  });
  const call = (args: readonly string[], more?: CommandOptions): Promise<Result> => run(path, args, options(more));
  const begin = (args: readonly string[], more?: CommandOptions): Running => start(path, args, options(more));
  const exec = (script: string, more?: CommandOptions): Promise<Result> =>
    call(['exec', ...(more?.input === undefined ? [] : ['-i']), 'web', '-c', 'main', '--', 'sh', '-c', script], more);

  test('exec separates the outputs and returns the exit code', async () => {
    assert.deepEqual(await exec('echo out; echo err >&2; exit 3'), {
      out: 'out\n',
      err: 'err\ncommand terminated with exit code 3\n',
      code: 3,
    });
    assert.deepEqual(await exec('true'), { out: '', err: '', code: 0 });
    assert.equal((await exec('kill -9 $$')).code, 137);
  });

  test('exec sends its input and its end', async () => {
    assert.equal((await exec('cat; echo end', { input: 'hello\n' })).out, 'hello\nend\n');
  });

  test('exec with input that the command does not read ends with the command', async () => {
    assert.equal((await exec('exit 5', { input: 'x'.repeat(4 << 20) })).code, 5);
  });

  test('exec of a program that does not exist names the program', async () => {
    const { err, code } = await call(['exec', 'web', '-c', 'main', '--', '/does/not/exist']);
    assert.equal(code, 1);
    assert.match(err, /Internal error occurred: error executing command in container: .*\/does\/not\/exist/);
  });

  test('exec returns 32 MiB unchanged', async () => {
    const { out } = await exec(
      'yes 0123456789abcdef | head -c 33554432 | cksum; yes 0123456789abcdef | head -c 33554432',
    );
    assert.equal(out.length - out.indexOf('\n') - 1, 33_554_432);
  });

  test('exec does not wait for a child that holds the output', async () => {
    const started = performance.now();
    assert.equal((await exec('sleep 20 & echo started')).out, 'started\n');
    assert.ok(performance.now() - started < 15_000);
  });

  test('exec in a container that does not exist, and in none, is an error before the stream', async () => {
    const other = await call(['exec', 'web', '-c', 'other', '--', 'true']);
    assert.match(other.err, /container other (?:not found in|is not valid for) pod web/i);
    const first = await call(['exec', 'web', '--', 'true']);
    assert.match(first.err, /Defaulted container "main" out of: main, second, echo/);
    assert.equal(first.code, 0);
  });

  test('a command ends when its client is killed', async () => {
    const client = begin(['exec', 'web', '-c', 'main', '--', 'sh', '-c', 'echo running; exec sleep 50']);
    await client.prints(/running/);
    assert.equal(cluster.runtime.running.size, 1);
    client[Symbol.dispose]();
    await until(() => cluster.runtime.running.size === 0);
  });

  test('cp copies 50 MB in both directions', async () => {
    const [source, there, back] = ['source', 'there', 'back'].map((name) => join(cluster.directory, name));
    const data = randomBytes(50_000_000);
    await writeFile(source ?? '', data);
    assert.equal((await call(['cp', source ?? '', `web:${there}`, '-c', 'main'])).code, 0);
    assert.ok(data.equals(await readFile(there ?? '')));
    assert.equal((await call(['cp', `web:${there}`, back ?? '', '-c', 'main'])).code, 0);
    assert.ok(data.equals(await readFile(back ?? '')));
  });

  test('port-forward carries parallel connections and ends when the backend refuses one', async () => {
    using client = begin(['port-forward', 'pod/web', `:${port}`, ':1']);
    await client.prints(/127\.0\.0\.1:\d+ -> 1\n/);
    const local = (remote: number): number =>
      Number(new RegExp(`127\\.0\\.0\\.1:(\\d+) -> ${remote}\\n`).exec(client.printed)?.[1]);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => fetchText(local(port), `/${index}`)));
    answers.forEach((answer, index) => assert.equal(answer, `you asked for /${index}\n`));
    await assert.rejects(fetchText(local(1), '/'));
    const { err } = await client.ended;
    assert.match(
      err,
      /error forwarding port 1 to pod web, uid \S+: dial tcp 127\.0\.0\.1:1: connect: connection refused/,
    );
    assert.match(err, /lost connection to pod/);
  });

  test('logs shows the last lines, times, a number of bytes, and another instance', async () => {
    const logs = async (...args: string[]): Promise<string> => (await call(['logs', 'web', '-c', 'main', ...args])).out;
    assert.equal(await logs('--tail=2'), 'line 8\nline 9\n');
    assert.equal(await logs('--limit-bytes=9'), 'line 0\nli');
    assert.match(await logs('--tail=1', '--timestamps'), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z line 9\n$/);
    assert.equal((await logs('--since=1h')).split('\n').length, 11);
    assert.equal(await logs('--since-time=2999-01-01T00:00:00Z'), '');
    assert.equal(await logs('--previous'), 'last words\n');
    const second = await call(['logs', 'web', '-c', 'second', '--previous']);
    assert.match(second.err, /previous terminated container "second" in pod "web" not found/);
    assert.equal(second.code, 1);
  });

  test('logs --all-containers shows the lines of all containers', async () => {
    const { out } = await call(['logs', 'web', '--all-containers', '--prefix', '--tail=1']);
    assert.equal(out, '[pod/web/main] line 9\n');
  });

  test('logs -f shows new lines, also after a rotation', async () => {
    using client = begin(['logs', '-f', 'web', '-c', 'main', '--tail=0']);
    await delay(1000); // the end of the log at this moment is where it begins
    await appendFile(log, `${time()} stdout F first\n`);
    await client.prints(/first\n/);
    files = [`${log}.1`, log];
    await rename(log, `${log}.1`);
    await writeFile(log, `${time()} stdout F second\n`);
    await client.prints(/^first\nsecond\n$/);
  });

  test('attach shows the output of the main process and sends its input', async () => {
    const { out, code } = await call(['attach', '-i', '-q', 'web', '-c', 'echo'], { input: 'hello\n' });
    assert.equal(out, 'you said hello\n');
    assert.equal(code, 0);
  });

  test('top shows what the node and its Pods use', async () => {
    using load = begin(['exec', 'web', '-c', 'main', '--', 'sh', '-c', 'echo started; while :; do :; done']);
    await load.prints(/started/);
    const node = await call(['top', 'node']);
    assert.match(node.out, /^NAME +CPU\(cores\) .*\nnode +\d+m .* \d+Mi /s, node.err);
    const pods = await call(['top', 'pod', 'web', '--containers']);
    assert.match(pods.out, /\nweb +main +[1-9]\d*m +\d+Mi/, pods.err);
    const { out } = await call(['get', 'pods.metrics.k8s.io', 'web']);
    assert.match(out, /^NAME +CPU +MEMORY +WINDOW\nweb +\d+n +\d+Ki +10s\n$/);
  });

  test('the proxy of a Node reaches the server of the node', async () => {
    const { out, err } = await call(['get', '--raw', '/api/v1/nodes/node/proxy/healthz']);
    assert.equal(out, 'ok\n', err);
    const pods = await call(['get', '--raw', '/api/v1/nodes/node/proxy/pods']);
    assert.match(pods.out, /"kind":"PodList"/);
  });

  test('the proxy of a Pod and a Service passes requests and rewrites links', async () => {
    const own = `/api/v1/namespaces/default/pods/http:web:${port}/proxy`;
    assert.equal((await call(['get', '--raw', `${own}/a//b?c=d`])).out, 'you asked for /a//b?c=d\n');
    assert.equal((await call(['get', '--raw', `${own}/page`])).out, `<a href="${own}/there">there</a>\n`);
    const none = await call(['get', '--raw', '/api/v1/namespaces/default/services/none/proxy/']);
    assert.match(none.err, /services "none" not found/);
    const closed = await call(['get', '--raw', '/api/v1/namespaces/default/pods/web:1/proxy/']);
    assert.match(closed.err, /error trying to reach service: dial tcp 127\.0\.0\.1:1: connect: connection refused/);
  });

  test('a command fails when its node is lost', async () => {
    const client = begin(['exec', 'web', '-c', 'main', '--', 'sh', '-c', 'echo running; exec sleep 50']);
    await client.prints(/running/);
    await cluster.node[Symbol.asyncDispose]();
    const { code, err } = await client.ended;
    // Over SPDY kubectl takes a lost connection for the end of a successful command.
    if (env['KUBECTL_REMOTE_COMMAND_WEBSOCKETS'] === 'true') assert.notEqual(code, 0, err);
    const refused = await exec('true');
    assert.match(refused.err, /error dialing backend: dial tcp 127\.0\.0\.1:\d+: connect: connection refused/);
    const logs = await call(['logs', 'web', '-c', 'main']);
    assert.match(
      logs.err,
      /Get "https:\/\/127\.0\.0\.1:\d+\/containerLogs\/default\/web\/main": dial tcp .* connection refused/,
    );
  });
}

/** A process that answers one line and ends. */
function echoing(): Attachment {
  const { promise: exited, resolve } = Promise.withResolvers<void>();
  let listener: (stream: 'stdout' | 'stderr', chunk: Buffer) => void = () => undefined;
  const stdin = new Writable({
    write(chunk: Buffer, _encoding, done) {
      listener('stdout', Buffer.from(`you said ${chunk.toString()}`));
      setImmediate(resolve);
      done();
    },
  });
  return {
    stdin,
    tty: false,
    exited,
    onOutput: (given) => void (listener = given),
    resize: () => undefined,
    [Symbol.dispose]: () => undefined,
  };
}

async function until(isTrue: () => boolean): Promise<void> {
  const deadline = Date.now() + 10_000;
  while (!isTrue()) {
    assert.ok(Date.now() < deadline, 'the condition was not met');
    await delay(20);
  }
}

function fetchText(port: number, path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve(text));
      response.on('error', reject);
    }).on('error', reject);
  });
}
