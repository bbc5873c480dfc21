// Clients of streams besides kubectl: a library with an older protocol, and clients that stop reading, send garbage or vanish.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { after, before, describe, test } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { connect } from 'node:tls';
import type { V1Status } from '@kubernetes/client-node';
import { Exec, KubeConfig } from '@kubernetes/client-node';

import { until } from '../../src/server/testing/until.ts';
import { residentBytesOf } from '../../bench/process.ts';
import { run } from '../harness/command.ts';
import { isReady, podObject, processContainer, Stand } from './stand.ts';

const maxGrowthBytes = 100e6;
/** How long a command sleeps: by it the processes of this run are found. */
const seconds = (test: number): string => `48${process.pid}${test}`;

describe('clients of streams', () => {
  let stand: Stand;
  before(async () => {
    stand = await Stand.start();
    await stand.create(podObject('web', { containers: [processContainer('c', ['sleep', '1000'])] }));
    await stand.podUntil('web', 'is ready', isReady);
  });
  after(() => stand[Symbol.asyncDispose]());

  const running = async (time: string): Promise<number> => {
    const { out } = await run('ps', ['-eo', 'stat,args']);
    return out.split('\n').filter((line) => !line.startsWith('Z') && line.endsWith(` sleep ${time}`)).length;
  };
  const isRunning = async (time: string): Promise<boolean> => (await running(time)) > 0;
  const works = async (): Promise<void> =>
    assert.equal((await stand.kubectl('exec', 'web', '--', 'echo', 'ok')).out, 'ok\n');

  /** A connection on which a command runs, after the handshake. */
  async function command(protocol: string, script: string): Promise<TLSSocket> {
    const { server, ca, certificate, key } = await access();
    const { hostname, port } = new URL(server);
    const socket = connect({ host: hostname, port: Number(port), ca, cert: certificate, key });
    socket.on('error', () => undefined); // reset by the server
    await once(socket, 'secureConnect');
    const words = ['sh', '-c', script].map((word) => `command=${encodeURIComponent(word)}`).join('&');
    socket.write(
      [
        `GET /api/v1/namespaces/default/pods/web/exec?container=c&stdout=true&stdin=true&${words} HTTP/1.1`,
        `Host: ${hostname}:${port}`,
        'Connection: Upgrade',
        'Upgrade: websocket',
        'Sec-WebSocket-Version: 13',
        `Sec-WebSocket-Key: ${randomBytes(16).toString('base64')}`,
        `Sec-WebSocket-Protocol: ${protocol}`,
        '\r\n',
      ].join('\r\n'),
    );
    const [reply] = (await once(socket, 'data')) as [Buffer];
    assert.match(reply.toString('latin1'), /^HTTP\/1\.1 101 /);
    return socket;
  }

  async function access(): Promise<{ server: string; ca: string; certificate: string; key: string }> {
    const config = new KubeConfig();
    config.loadFromFile(stand.kubeconfig);
    config.setCurrentContext('east');
    const [cluster, user] = [config.getCurrentCluster(), config.getCurrentUser()];
    const decoded = (text = ''): string => Buffer.from(text, 'base64').toString();
    return {
      server: cluster?.server ?? '',
      ca: decoded(cluster?.caData),
      certificate: decoded(user?.certData),
      key: decoded(user?.keyData),
    };
  }

  test('the JavaScript client runs a command over v4.channel.k8s.io', async () => {
    const config = new KubeConfig();
    config.loadFromFile(stand.kubeconfig);
    config.setCurrentContext('east');
    const out = new PassThrough().setEncoding('utf8');
    let text = '';
    out.on('data', (chunk: string) => (text += chunk));
    const status = await new Promise<V1Status>((resolve, reject) => {
      const argv = ['sh', '-c', 'echo hello; exit 3'];
      new Exec(config).exec('default', 'web', 'c', argv, out, null, null, false, resolve).catch(reject);
    });
    assert.equal(text, 'hello\n');
    assert.equal(status.details?.causes?.[0]?.message, '3');
  });

  for (const protocol of ['v4.channel.k8s.io', 'v5.channel.k8s.io']) {
    test(`a command whose client reads nothing waits, in bounded memory, and ends with its client (${protocol})`, async () => {
      const before = residentBytesOf([stand.agent.pid]);
      const socket = await command(protocol, `yes 0123456789012345678901234567890123456789 & exec sleep ${seconds(1)}`);
      socket.pause();
      await until('the command runs', () => isRunning(seconds(1)));
      await works();
      await new Promise((resolve) => setTimeout(resolve, 2000)); // time in which output would pile up
      assert.ok(residentBytesOf([stand.agent.pid]) - before < maxGrowthBytes);
      socket.destroy();
      await until('the command has ended', async () => !(await isRunning(seconds(1))));
    });

    test(`a client that sends garbage is disconnected, and its command ends (${protocol})`, async () => {
      const socket = await command(protocol, `exec sleep ${seconds(2)}`);
      socket.resume();
      await until('the command runs', () => isRunning(seconds(2)));
      socket.write(Buffer.concat([Buffer.from([0xff, 0xff]), randomBytes(64 << 10)]));
      await once(socket, 'close');
      await until('the command has ended', async () => !(await isRunning(seconds(2))));
      await works();
    });

    test(`a command ends when its client vanishes without a word (${protocol})`, async () => {
      const sockets = await Promise.all(
        Array.from({ length: 10 }, () => command(protocol, `exec sleep ${seconds(3)}`)),
      );
      await until('the commands run', async () => (await running(seconds(3))) === sockets.length);
      for (const socket of sockets) socket.destroy();
      await until('the commands have ended', async () => !(await isRunning(seconds(3))));
      await works();
    });
  }
});
