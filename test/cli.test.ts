import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const launcher = join(dirname(dirname(fileURLToPath(import.meta.url))), 'bin', 'fairlead.js');
const readyWithinMs = 60_000;

interface Run {
  readonly child: ChildProcess;
  readonly done: Promise<{ code: number | null; out: string; err: string }>;
}

function fairlead(args: readonly string[], node = process.execPath): Run {
  const child = spawn(node, [launcher, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'exit');
  const done = (async () => {
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [code] = (await closed) as [number | null];
    return { code, out, err };
  })();
  return { child, done };
}

/** Waits until `state.json` reports ready, or fails with the output of the process. */
async function ready(
  run: Run,
  directory: string,
): Promise<{ clusters: { name: string; server: string }[]; pid: number }> {
  const path = join(directory, 'state.json');
  for (const end = performance.now() + readyWithinMs; performance.now() < end; await delay(20)) {
    if (existsSync(path)) return JSON.parse(await readFile(path, 'utf8'));
    if (run.child.exitCode !== null) assert.fail(`it ended before it was ready: ${(await run.done).err}`);
  }
  run.child.kill('SIGKILL');
  return assert.fail(`not ready after ${readyWithinMs} ms`);
}

describe('fairlead as a process', () => {
  let parent = '';
  before(async () => {
    parent = await mkdtemp(join(tmpdir(), 'fairlead-cli-'));
  });
  after(() => rm(parent, { recursive: true, force: true }));

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    test(`up prints its addresses, locks its directory, and exits with 0 after ${signal}`, async () => {
      const directory = join(parent, signal);
      const args = ['up', '--data-dir', directory, '--port-base', '0', '--cluster', 'one'];
      const run = fairlead(args);
      const state = await ready(run, directory);
      assert.deepEqual(
        state.clusters.map(({ name }) => name),
        ['one'],
      );
      assert.equal(state.pid, run.child.pid);

      const second = await fairlead(args).done;
      assert.equal(second.code, 1);
      assert.equal(
        second.err,
        `fairlead: data directory ${directory} is in use by process ${run.child.pid}: stop it or pass --data-dir\n`,
      );

      run.child.kill(signal);
      const { code, out, err } = await run.done;
      assert.deepEqual({ code, err }, { code: 0, err: '' });
      assert.match(out, /^fairlead \S+ ready in \d+(\.\d)? m?s\n {2}one {2}https:\/\/127\.0\.0\.1:\d+ /);
      assert.ok(!existsSync(join(directory, 'state.json')));
    });
  }

  test('up names a port that is in use', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    assert.ok(address !== null && typeof address === 'object');
    const args = ['server', '--data-dir', join(parent, 'taken'), '--secure-port', String(address.port)];
    const { code, err } = await fairlead(args).done;
    taken.close();
    assert.equal(code, 1);
    assert.equal(
      err,
      `fairlead: port ${address.port} for the API server of cluster "fairlead" is in use: ` +
        'stop the program that uses it or pass --secure-port\n',
    );
  });

  const linuxOnly = { skip: process.platform !== 'linux' && 'only Linux answers on all of 127.0.0.0/8' };
  test('a server on all addresses publishes its advertised address', linuxOnly, async () => {
    const directory = join(parent, 'advertised');
    const flags = ['--data-dir', directory, '--secure-port', '0', '--store', 'memory'];
    const run = fairlead(['server', ...flags, '--bind-address', '0.0.0.0', '--advertise-address', '127.0.0.2']);
    const state = await ready(run, directory);
    const url = state.clusters[0]?.server ?? '';
    assert.match(url, /^https:\/\/127\.0\.0\.2:\d+$/);
    const config = JSON.parse(await readFile(join(directory, 'kubeconfig'), 'utf8'));
    assert.equal(config.clusters[0].cluster.server, url);
    const { user } = config.users[0];
    const answer = get(new URL('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes', url), {
      ca: Buffer.from(config.clusters[0].cluster['certificate-authority-data'], 'base64'),
      cert: Buffer.from(user['client-certificate-data'], 'base64'),
      key: Buffer.from(user['client-key-data'], 'base64'),
    });
    const [response] = (await once(answer, 'response')) as [IncomingMessage];
    assert.deepEqual(JSON.parse(await text(response)).endpoints[0].addresses, ['127.0.0.2']);
    run.child.kill('SIGTERM');
    assert.match((await run.done).out, /^ {2}fairlead {2}https:\/\/127\.0\.0\.2:/m);
  });

  test('up exits with 1 when its data directory is removed', async () => {
    const directory = join(parent, 'removed');
    const run = fairlead(['server', '--data-dir', directory, '--secure-port', '0', '--store', 'memory']);
    await ready(run, directory);
    // The process may still write into the directory
    await rm(directory, { recursive: true, force: true, maxRetries: 10 });
    const { code, err } = await run.done;
    assert.equal(code, 1);
    assert.match(err, /^fairlead: lost the lock of data directory [^\n]+\n$/);
  });

  const oldNode = '/usr/bin/node';
  const isOld = existsSync(oldNode) && !process.execPath.startsWith(oldNode);
  test(
    "an older Node runs the command with the project's Node, with signals and exit code",
    { skip: !isOld && 'no second Node here' },
    async () => {
      assert.match((await fairlead(['version'], oldNode).done).out, /^fairlead /);
      assert.equal((await fairlead(['nonsense'], oldNode).done).code, 2);

      const directory = join(parent, 'old');
      const run = fairlead(['server', '--data-dir', directory, '--secure-port', '0', '--store', 'memory'], oldNode);
      await ready(run, directory);
      run.child.kill('SIGTERM');
      assert.equal((await run.done).code, 0);
    },
  );
});
