// Compares relayed connections with HAProxy in TCP mode, one thread each, one after the other in one run. Clients and
// server are in this process and slower than any relay, so the CPU of the relay is what counts.

import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { cpuSecondsOf, freePort, start, stopAll } from './process.ts';

/** The results of one relay. */
export interface ProxyResult {
  readonly relay: string;
  readonly connectionMicros: number;
  readonly roundTripMicros: number;
  readonly gigabytesPerCpuSecond: number;
}

const seconds = 3;
const chunk = Buffer.alloc(1 << 20);

/** Measures every available relay; `haproxy` is its path. */
export async function measureProxy(
  haproxy: string | undefined,
  progress: (text: string) => void,
): Promise<readonly ProxyResult[]> {
  const { server, port: target } = await startTarget();
  const directory = await mkdtemp(join(tmpdir(), 'fairlead-bench-proxy-'));
  const results: ProxyResult[] = [];
  try {
    for (const relay of ['native', 'node', ...(haproxy === undefined ? [] : ['HAProxy'])]) {
      progress(relay);
      const port = await freePort();
      const child =
        relay === 'HAProxy' && haproxy !== undefined
          ? await startHaproxy(haproxy, directory, { port, target })
          : start(process.execPath, [program, relay, String(port), String(target)]);
      try {
        results.push({ relay, ...(await measure(port, child)) });
      } finally {
        await stopAll([child]);
      }
    }
  } finally {
    server.close();
    await rm(directory, { recursive: true, force: true });
  }
  return results;
}

/** Starts the server behind a relay: connections that begin with `b` get bytes without end; others get an echo. */
export async function startTarget(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer({ noDelay: true }, (socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (data: Buffer) => (data[0] === 98 ? pour(socket) : socket.write(data)));
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen({ port, host: '127.0.0.1', backlog: 4096 }, resolve));
  return { server, port };
}

const program = fileURLToPath(new URL('proxy/relay.ts', import.meta.url));

async function startHaproxy(
  haproxy: string,
  directory: string,
  { port, target }: { readonly port: number; readonly target: number },
): Promise<ChildProcess> {
  const file = join(directory, 'haproxy.cfg');
  const timeouts = ['connect', 'client', 'server'].map((name) => `  timeout ${name} 1m`).join('\n');
  await writeFile(
    file,
    `global\n  nbthread 1\n  maxconn 2000\ndefaults\n  mode tcp\n${timeouts}\n` +
      `listen relay\n  bind 127.0.0.1:${port}\n  server target 127.0.0.1:${target}\n`,
  );
  return start(haproxy, ['-db', '-f', file]);
}

/** Measures the CPU of a relay that listens on a port, or of nothing in between. */
export async function measure(
  port: number,
  { pid = 0 }: { readonly pid?: number | undefined },
  host = '127.0.0.1',
): Promise<Omit<ProxyResult, 'relay'>> {
  await untilOpen(port, host);
  const place = { host, port };
  await during(pid, (signal) => connections(place, signal)); // warms up the compiler
  const short = await during(pid, (signal) => connections(place, signal));
  const trips = await during(pid, (signal) => roundTrips(place, signal));
  const bytes = await during(pid, (signal) => bulk(place, signal));
  return {
    connectionMicros: (short.cpuSeconds * 1e6) / short.done,
    roundTripMicros: (trips.cpuSeconds * 1e6) / trips.done,
    gigabytesPerCpuSecond: bytes.done / 1e9 / bytes.cpuSeconds,
  };
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/** Work done in a fixed time, and the CPU of the relay. */
async function during(
  pid: number,
  run: (signal: AbortSignal) => Promise<number>,
): Promise<{ readonly done: number; readonly cpuSeconds: number }> {
  const before = cpuSecondsOf([pid]);
  const done = await run(AbortSignal.timeout(seconds * 1000));
  return { done, cpuSeconds: cpuSecondsOf([pid]) - before };
}

/** Connects, sends a byte, reads it back, closes; 32 at once. */
async function connections(place: Place, signal: AbortSignal): Promise<number> {
  let done = 0;
  const client = async (): Promise<void> => {
    while (!signal.aborted) {
      await new Promise<void>((resolve, reject) => {
        const socket = connect({ ...place, noDelay: true }, () => socket.write('x'));
        socket.on('error', reject).on('close', () => resolve());
        socket.on('data', () => socket.destroy());
      });
      done++;
    }
  };
  await Promise.all(Array.from({ length: 32 }, client));
  return done;
}

/** Sends a byte and reads it back, repeatedly; 8 at once. */
async function roundTrips(place: Place, signal: AbortSignal): Promise<number> {
  let done = 0;
  await Promise.all(
    Array.from({ length: 8 }, () =>
      conversation(place, signal, 'x', (socket) => {
        done++;
        socket.write('x');
      }),
    ),
  );
  return done;
}

/** Reads bytes at the maximum rate; 4 at once. */
async function bulk(place: Place, signal: AbortSignal): Promise<number> {
  let done = 0;
  await Promise.all(
    Array.from({ length: 4 }, () => conversation(place, signal, 'b', (_, data) => (done += data.length))),
  );
  return done;
}

function conversation(
  place: Place,
  signal: AbortSignal,
  first: string,
  onData: (socket: Socket, data: Buffer) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ ...place, noDelay: true }, () => socket.write(first));
    socket.on('data', (data: Buffer) => onData(socket, data));
    socket.on('error', reject).on('close', () => resolve());
    signal.addEventListener('abort', () => socket.destroy());
  });
}

function pour(socket: Socket): void {
  const more = (): void => {
    while (!socket.destroyed && socket.write(chunk));
  };
  socket.on('drain', more);
  more();
}

async function untilOpen(port: number, host: string): Promise<void> {
  for (let count = 0; count < 400; count++) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect({ port, host }, () => resolve(true));
      socket.on('error', () => resolve(false)).on('connect', () => socket.destroy());
    });
    if (isOpen) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`nothing listens on port ${port}`);
}

// Standalone: `node bench/proxy.bench.ts`, with HAProxy if HAPROXY names it.
if (import.meta.main) {
  const results = await measureProxy(process.env['HAPROXY'], (text) => console.error(text));
  console.log('| | CPU µs a connection | CPU µs a round trip | GB a CPU second |\n|---|---|---|---|');
  for (const { relay, connectionMicros, roundTripMicros, gigabytesPerCpuSecond } of results) {
    const numbers = [connectionMicros, roundTripMicros, gigabytesPerCpuSecond].map((value) => value.toFixed(1));
    console.log(`| ${relay} | ${numbers.join(' | ')} |`);
  }
  process.exit(0);
}
