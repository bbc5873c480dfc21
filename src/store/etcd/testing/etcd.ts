import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** The path of etcd: `ETCD`, or the one on the path; undefined if there is none. */
export const etcdProgram: string | undefined = [
  process.env['ETCD'] ?? '',
  ...(process.env['PATH'] ?? '').split(delimiter).map((directory) => join(directory, 'etcd')),
].find((path) => path !== '' && existsSync(path));

/** A member of an etcd cluster for tests. */
export interface EtcdMember {
  readonly url: string;
  readonly peerPort: number;
  readonly pid: number;
  /** With its data. */
  readonly directory: string;
  kill(signal: NodeJS.Signals): void;
  /** Kills it, and resolves when it has ended. */
  stop(): Promise<void>;
  /** Starts it again, with its data. */
  restart(): Promise<void>;
}

/** A running etcd cluster for tests. */
export interface TestEtcd extends AsyncDisposable {
  readonly urls: readonly string[];
  readonly members: readonly EtcdMember[];
}

/** Starts etcd on loopback, with its data in a temporary folder. */
export async function startEtcd({
  members: count = 1,
  flags = [],
  scheme = 'http',
  isDurable = true,
  uids = [],
}: {
  readonly members?: number;
  readonly flags?: readonly string[];
  /** For clients; `https` needs flags with certificates. */
  readonly scheme?: 'http' | 'https';
  /** Without, it is faster, and loses writes when it is killed. */
  readonly isDurable?: boolean;
  /** The users that the members run as; default: that of this process. */
  readonly uids?: readonly number[];
} = {}): Promise<TestEtcd> {
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-etcd-'));
  for (const [index, uid] of uids.entries()) {
    await chmod(directory, 0o711);
    await mkdir(join(directory, `m${index}`), { mode: 0o700 });
    await chown(join(directory, `m${index}`), uid, uid);
  }
  const ports = await freePorts(count * 3);
  const urls = ports.slice(0, count).map((port) => `${scheme}://127.0.0.1:${port}`);
  const peers = ports.slice(count, 2 * count).map((port) => `http://127.0.0.1:${port}`);
  const monitors = ports.slice(2 * count).map((port) => `http://127.0.0.1:${port}`);
  const cluster = peers.map((url, index) => `m${index}=${url}`).join(',');
  const members = urls.map((url, index) =>
    member(
      {
        url,
        peerPort: Number(new URL(peers[index] ?? '').port),
        monitor: monitors[index] ?? '',
        directory: join(directory, `m${index}`),
        uid: uids[index],
      },
      [
        ['--name', `m${index}`],
        ['--listen-client-urls', url],
        ['--advertise-client-urls', url],
        ['--listen-peer-urls', peers[index] ?? ''],
        ['--initial-advertise-peer-urls', peers[index] ?? ''],
        ['--initial-cluster', cluster],
        ['--listen-metrics-urls', monitors[index] ?? ''],
        ['--logger', 'zap'],
        flags,
      ].flat(),
      isDurable,
    ),
  );
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((each) => each.stop()));
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await Promise.all(members.map((each) => each.restart()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { urls, members, [Symbol.asyncDispose]: stop };
}

interface MemberOptions extends Pick<EtcdMember, 'url' | 'peerPort' | 'directory'> {
  /** Where it reports its health. */
  readonly monitor: string;
  readonly uid: number | undefined;
}

function member(
  { url, peerPort, monitor, directory, uid }: MemberOptions,
  flags: readonly string[],
  isDurable: boolean,
): EtcdMember {
  let child: ReturnType<typeof spawn> | undefined;
  const end = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return {
    url,
    peerPort,
    directory,
    get pid() {
      return child?.pid ?? 0;
    },
    kill: (signal) => void child?.kill(signal),
    stop: end,
    async restart() {
      await end();
      child = spawn(etcdProgram ?? 'etcd', ['--data-dir', directory, ...flags], {
        stdio: 'ignore',
        ...(uid === undefined ? {} : { uid, gid: uid }),
        env: { ...process.env, ...(isDurable ? {} : { ETCD_UNSAFE_NO_FSYNC: 'true' }) },
      });
      const failed = once(child, 'error').then(([error]: unknown[]) => {
        throw error;
      });
      failed.catch(() => undefined);
      await Promise.race([healthy(monitor), failed]);
    },
  };
}

async function healthy(url: string): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const isHealthy = await fetch(`${url}/health`).then(
      (response) => response.ok,
      () => false,
    );
    if (isHealthy) return;
    if (Date.now() > deadline) throw new Error(`etcd ${url} is not healthy after a minute`);
    await sleep(50);
  }
}

async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => once(server.close(), 'close')));
  return ports;
}
