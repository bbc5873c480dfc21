// The measured DNS servers, all with the same names.

import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { untilAnswered } from './dnsperf.ts';
import { cpuSecondsOf, residentBytesOf, start, stopAll } from '../process.ts';

/** A running DNS server. */
export interface DnsServer {
  readonly name: string;
  readonly port: number;
  /** Whether changes are answered at once: it follows a cluster without a cache. */
  readonly follows: boolean;
  cpuSeconds(): number;
  residentBytes(): number;
  stop(): Promise<void>;
}

/** The served names: a cluster, and a name in it. */
export interface Served {
  readonly directory: string;
  readonly kubeconfig: string;
  readonly context: string;
  readonly sample: string;
}

const run = promisify(execFile);

async function freeUdpPort(): Promise<number> {
  const socket = createSocket('udp4');
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  await new Promise<void>((resolve) => socket.close(() => resolve()));
  return port;
}

async function answering(
  name: string,
  port: number,
  { child, sample, follows }: { readonly child: ChildProcess; readonly sample: string; readonly follows: boolean },
): Promise<DnsServer> {
  if ((await untilAnswered(port, sample, 60_000)) >= 60_000) throw new Error(`${name} does not answer ${sample}`);
  const pids = [child.pid ?? 0];
  return {
    name,
    port,
    follows,
    cpuSeconds: () => cpuSecondsOf(pids),
    residentBytes: () => residentBytesOf(pids),
    stop: () => stopAll([child]),
  };
}

/** `fairlead dns` with one worker. */
export async function startFairleadDns({ kubeconfig, context, sample }: Served): Promise<DnsServer> {
  const port = await freeUdpPort();
  const program = new URL('../../bin/fairlead.js', import.meta.url).pathname;
  const place = ['--kubeconfig', kubeconfig, '--context', context, '--listen', `127.0.0.1:${port}`];
  const nowhere = ['--health-listen', 'none', '--ready-listen', 'none', '--metrics-listen', 'none'];
  const rights = ['--upstream', 'none', '--transfer-to', '127.0.0.1/32', '--log-level', 'warn'];
  const child = start(process.execPath, [program, 'dns', ...place, ...nowhere, ...rights]);
  return answering('fairlead', port, { child, sample, follows: true });
}

/** CoreDNS with its kubernetes plugin, optionally with its cache. */
export async function startCoreDns(program: string, served: Served, cache: boolean): Promise<DnsServer> {
  const { directory, kubeconfig, context, sample } = served;
  const port = await freeUdpPort();
  const corefile = join(directory, `Corefile-${port}`);
  await writeFile(
    corefile,
    `.:${port} {
  bind 127.0.0.1
  kubernetes cluster.local in-addr.arpa ip6.arpa {
    kubeconfig ${kubeconfig} ${context}
    ttl 30
  }
${cache ? '  cache 30\n' : ''}}
`,
  );
  const child = start(program, ['-conf', corefile, '-quiet']);
  return answering(cache ? 'CoreDNS with its cache' : 'CoreDNS', port, { child, sample, follows: !cache });
}

/** Knot with a copy of the zone by transfer. */
export async function startKnot(program: string, { directory, sample }: Served, from: DnsServer): Promise<DnsServer> {
  const port = await freeUdpPort();
  const storage = join(directory, `knot-${port}`);
  await mkdir(storage, { recursive: true });
  const axfr = ['@127.0.0.1', '-p', String(from.port), 'cluster.local', 'AXFR', '+onesoa', '+noall', '+answer'];
  const { stdout } = await run('dig', axfr, { maxBuffer: 256 << 20 });
  await writeFile(join(storage, 'cluster.local.zone'), stdout);
  const config = join(storage, 'knot.conf');
  await writeFile(
    config,
    `server:
    rundir: "${storage}"
    listen: 127.0.0.1@${port}
    udp-workers: 1
    tcp-workers: 1
    background-workers: 1
database:
    storage: "${storage}"
log:
  - target: stderr
    any: error
zone:
  - domain: cluster.local
    storage: "${storage}"
    file: cluster.local.zone
    journal-content: none
    zonefile-sync: -1
`,
  );
  return answering('Knot', port, { child: start(program, ['-c', config]), sample, follows: false });
}
