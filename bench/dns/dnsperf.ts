// dnsperf as client, and a prober for what it does not report: quantiles of single queries.

import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { promisify } from 'node:util';

import { encode } from 'dns-packet';

/** The counts of a run of dnsperf. */
export interface Load {
  readonly completed: number;
  readonly lost: number;
  readonly perSecond: number;
}

export interface LoadOptions {
  readonly port: number;
  /** A file with `name type` lines. */
  readonly queries: string;
  readonly seconds: number;
  /** Queries per second; default: the maximum rate. */
  readonly rate?: number;
}

const run = promisify(execFile);

/** Uses eight sockets and up to 400 outstanding queries. */
export async function load({ port, queries, seconds, rate }: LoadOptions): Promise<Load> {
  const limits = rate === undefined ? [] : ['-Q', String(Math.round(rate))];
  const args = ['-s', '127.0.0.1', '-p', String(port), '-d', queries, '-l', String(seconds), '-c', '8', '-T', '1'];
  const { stdout } = await run('dnsperf', [...args, '-q', '400', ...limits], { maxBuffer: 64 << 20 });
  const number = (pattern: RegExp): number => Number(pattern.exec(stdout)?.[1]);
  return {
    completed: number(/Queries completed:\s+(\d+)/),
    lost: number(/Queries lost:\s+(\d+)/),
    perSecond: number(/Queries per second:\s+([\d.]+)/),
  };
}

/** Latencies of single queries in milliseconds, one every two milliseconds; a lost one counts as its timeout of a second. */
export async function probe(port: number, names: readonly string[], seconds: number): Promise<readonly number[]> {
  const socket = createSocket('udp4');
  const sent = new Map<number, number>();
  const taken: number[] = [];
  socket.on('message', (message) => {
    const id = message.readUInt16BE(0);
    const at = sent.get(id);
    if (at !== undefined) taken.push(performance.now() - at);
    sent.delete(id);
  });
  const end = performance.now() + seconds * 1000;
  for (let id = 1; performance.now() < end; id = (id % 65_535) + 1) {
    const name = names[id % names.length] ?? '';
    sent.set(id, performance.now());
    socket.send(encode({ type: 'query', id, flags: 0x100, questions: [{ type: 'A', name }] }), port, '127.0.0.1');
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
  socket.close();
  return [...taken, ...Array.from(sent, () => 1000)];
}

/** Milliseconds until a name has an address; queries every millisecond. */
export async function untilAnswered(port: number, name: string, deadlineMs = 10_000): Promise<number> {
  const socket = createSocket('udp4');
  const started = performance.now();
  const question = encode({ type: 'query', id: 1, flags: 0x100, questions: [{ type: 'A', name }] });
  let found: number | undefined;
  socket.on('message', (message) => {
    if (message.readUInt16BE(6) > 0) found ??= performance.now() - started;
  });
  while (found === undefined && performance.now() - started < deadlineMs) {
    socket.send(question, port, '127.0.0.1');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  socket.close();
  return found ?? deadlineMs;
}
