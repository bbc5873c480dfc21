// The process that keeps the namespaces of a Pod while its containers come and go.
import { spawn } from 'node:child_process';
import { identityOf } from '../processes/identity.ts';
import type { ProcessId } from '../processes/identity.ts';
import { launcherEnvironment } from '../processes/launch.ts';
import { instanceVariable } from '../processes/main-process.ts';

/** The value of the variable by which an anchor is found. */
export const anchorInstance = (uid: string): string => `sandbox-${uid}`;

/** Ports below 1024 are free for every user, as in containers. */
const script = `
set -e
printf %s "$1" > /proc/sys/kernel/hostname
echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start
echo ready
exec sleep infinity > /dev/null 2>&1`;

export interface AnchorOptions {
  readonly uid: string;
  readonly hostname: string;
  /** Whether the kernel kills it when the agent is killed. */
  readonly diesWithAgent: boolean;
}

/** Creates a network, UTS and IPC namespace. Rejects with what the system reports. */
export async function startAnchor({ uid, hostname, diesWithAgent }: AnchorOptions): Promise<ProcessId> {
  const mortal = diesWithAgent ? ['setpriv', '--pdeathsig', 'KILL', '--'] : [];
  const argv = [...mortal, 'unshare', '--net', '--uts', '--ipc', '--', 'sh', '-c', script, 'anchor', hostname];
  const [file = '', ...args] = argv;
  const child = spawn(file, args, {
    cwd: '/',
    detached: true,
    env: { ...launcherEnvironment, [instanceVariable]: anchorInstance(uid) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.stdout.once('data', () => resolve());
    child.once('close', () => reject(new Error(errors.trim() || 'the process of the network namespace ended')));
  });
  child.stdout.destroy();
  child.stderr.destroy();
  child.unref();
  const { pid = 0 } = child;
  return { pid, identity: identityOf(pid) ?? '' };
}
