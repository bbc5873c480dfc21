// Compares connections through two gateways with a direct connection, and with two HAProxys with mutual TLS between them. Each pair is one
// process with one thread. Clients and server are in this process, so the CPU of the pair is what counts.

import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { writeCertificates } from '../src/server/pki/set-authority.ts';
import { freePort, start, stopAll } from './process.ts';
import type { ProxyResult } from './proxy.bench.ts';
import { measure, startTarget } from './proxy.bench.ts';

const pair = fileURLToPath(new URL('gateway/pair.ts', import.meta.url));

/** A Markdown table of the CPU of both pairs. */
export async function measureGateway(haproxy: string | undefined, progress: (text: string) => void): Promise<string> {
  const { server, port: target } = await startTarget();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-gateway-'));
  const rows: ProxyResult[] = [];
  try {
    progress('gateways');
    const child = start(process.execPath, [pair, String(target)]);
    try {
      const [line] = child.stdout === null ? [''] : ((await once(child.stdout, 'data')) as [Buffer]);
      const [host = '', port = ''] = line.toString().trim().split(' ');
      rows.push({ relay: 'gateways', ...(await measure(Number(port), child, host)) });
    } finally {
      await stopAll([child]);
    }
    if (haproxy !== undefined) {
      progress('HAProxy');
      const port = await freePort();
      const peer = start(haproxy, ['-db', '-f', await haproxyFile(directory, { port, target })]);
      try {
        rows.push({ relay: 'HAProxy with TLS on both sides', ...(await measure(port, peer)) });
      } finally {
        await stopAll([peer]);
      }
    }
  } finally {
    server.close();
    await rm(directory, { recursive: true, force: true });
  }
  const [ours, theirs] = rows;
  const lines = rows.map((row) => `| ${row.relay} | ${cells(row).join(' | ')} |`);
  if (ours !== undefined && theirs !== undefined) {
    const ratios = [
      theirs.connectionMicros / ours.connectionMicros,
      theirs.roundTripMicros / ours.roundTripMicros,
      ours.gigabytesPerCpuSecond / theirs.gigabytesPerCpuSecond,
    ];
    lines.push(`| ratio | ${ratios.map((ratio) => `${ratio.toFixed(2)}×`).join(' | ')} |`);
  }
  return `| | CPU µs a connection | CPU µs a round trip | GB a CPU second |\n| --- | --- | --- | --- |\n${lines.join('\n')}`;
}

const cells = ({ connectionMicros, roundTripMicros, gigabytesPerCpuSecond }: ProxyResult): readonly string[] =>
  [connectionMicros, roundTripMicros].map((value) => value.toFixed(1)).concat(gigabytesPerCpuSecond.toFixed(2));

/** One process with both ends: clients → TLS with a client certificate → the server. */
async function haproxyFile(
  directory: string,
  { port, target }: { readonly port: number; readonly target: number },
): Promise<string> {
  await writeCertificates(
    directory,
    'bench',
    new Map(['east', 'west'].map((cluster) => [cluster, { use: 'peer', commonName: cluster }])),
  );
  for (const name of ['east', 'west'])
    await writeFile(join(directory, `${name}.pem`), await pemOf(directory, name), { mode: 0o600 });
  const between = await freePort();
  const tls = (name: string): string => `ca-file ${directory}/ca.crt crt ${directory}/${name}.pem`;
  const file = join(directory, 'haproxy.cfg');
  const timeouts = ['connect', 'client', 'server'].map((name) => `  timeout ${name} 1m`).join('\n');
  await writeFile(
    file,
    `global\n  nbthread 1\n  maxconn 4000\ndefaults\n  mode tcp\n${timeouts}\n` +
      `listen egress\n  bind 127.0.0.1:${port}\n  server east 127.0.0.1:${between} ssl verify required ${tls('west')}\n` +
      `listen ingress\n  bind 127.0.0.1:${between} ssl verify required ${tls('east')}\n  server target 127.0.0.1:${target}\n`,
  );
  return file;
}

async function pemOf(directory: string, name: string): Promise<string> {
  const read = (end: string): Promise<string> => readFile(join(directory, `${name}.${end}`), 'utf8');
  return `${await read('crt')}\n${await read('key')}`;
}
