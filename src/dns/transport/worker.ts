// The program of a worker thread: opens listeners and answers until told to stop.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { parentPort } from 'node:worker_threads';

import { messageOf } from '../../api/error-message.ts';
import { Cookies } from '../message/cookie.ts';
import { SlowPathClient } from './slow-path-client.ts';
import { collectGarbage } from './collect.ts';
import { Counters } from './counters.ts';
import { ClientLimiter } from './limiter.ts';
import type { Listener, WorkerContext } from './listener.ts';
import { TableReader } from './lookup.ts';
import { loadNative, SocketError } from './native.ts';
import type { FromWorker, ToWorker, WorkerSetup } from './protocol.ts';
import { Responder } from './responder.ts';
import { TcpListener } from './tcp.ts';
import { UdpBatchListener } from './udp-batch-listener.ts';
import { UdpDgramListener } from './udp-dgram.ts';

const defaultMaxSlowPath = 4096;
const defaultSlowPathPerClient = { perSecond: 5000 };

function makeContext(setup: WorkerSetup, port: MessagePort): WorkerContext {
  const { limits, reply } = setup;
  const counters = new Counters(setup.counters);
  const slowPath = new SlowPathClient({
    post: (packed) => port.postMessage(packed, [packed.buffer as ArrayBuffer]),
    maxOutstanding: limits.maxSlowPathPerWorker ?? defaultMaxSlowPath,
    limiter: new ClientLimiter(limits.slowPathPerClient ?? defaultSlowPathPerClient),
    counters,
  });
  const secrets = reply.cookieSecrets ?? [];
  const responder = new Responder({
    table: new TableReader(setup.table),
    counters,
    recursionAvailable: reply.recursionAvailable ?? false,
    settings: reply,
    cookies: secrets.length === 0 ? undefined : new Cookies({ secrets, required: reply.cookiesRequired ?? false }),
    responses: limits.responsesPerClient === undefined ? undefined : new ClientLimiter(limits.responsesPerClient),
  });
  return { responder, slowPath };
}

/** Opens everything; the ports are those of the datagram sockets, or of TCP where the main thread has opened those. */
async function open(setup: WorkerSetup, context: WorkerContext): Promise<{ listeners: Listener[]; ports: number[] }> {
  const listeners: Listener[] = [];
  try {
    const native = setup.sockets.length === 0 ? undefined : await loadNative();
    for (const socket of setup.sockets) {
      if (native === undefined) throw new Error('bug: sockets for batches where batches cannot be had');
      listeners.push(new UdpBatchListener(native, socket, context));
    }
    const ports: number[] = [];
    for (const listen of setup.dgram) {
      const listener = await UdpDgramListener.open({ ...listen, reusePort: setup.reusePort, context });
      listeners.push(listener);
      ports.push(listener.port);
    }
    for (const [index, listen] of setup.tcp.entries()) {
      const port = ports[index] ?? listen.port;
      const { address } = listen;
      const options = { address, port, reusePort: setup.reusePort, context, limits: setup.limits };
      listeners.push(await TcpListener.open(options));
    }
    return { listeners, ports: setup.dgram.length > 0 ? ports : setup.tcp.map(({ port }) => port) };
  } catch (error) {
    for (const listener of listeners) listener.close();
    throw error;
  }
}

async function drain(listeners: readonly Listener[], { slowPath }: WorkerContext, timeoutMs: number): Promise<void> {
  const all = Promise.all(listeners.map(async (listener) => listener.drain())).then(async () => slowPath.settled());
  const timer = new AbortController();
  // A timer that is left would keep the thread.
  await Promise.race([all.finally(() => timer.abort()), delay(timeoutMs, undefined, timer).catch(() => undefined)]);
  for (const listener of listeners) listener.close();
}

/** Starts to answer; what it returns is told everything that comes from the main thread from then on. */
async function run(setup: WorkerSetup, port: MessagePort): Promise<(message: Uint8Array | ToWorker) => void> {
  const say = (message: FromWorker): void => port.postMessage(message);
  const context = makeContext(setup, port);
  const { listeners, ports } = await open(setup, context);
  say({ kind: 'ready', ports });
  return (message) => {
    if (message instanceof Uint8Array) {
      context.slowPath.replied(message);
    } else if (message.kind === 'table') {
      context.responder.useTable(new TableReader(message.table), message.recursionAvailable);
      say({ kind: 'switched' });
      collectGarbage(); // the table before
    } else if (message.kind === 'drain') {
      // Ends the thread: nothing is left that could keep it.
      void drain(listeners, context, message.timeoutMs).then(() => {
        say({ kind: 'drained' });
        port.close();
      });
    }
  };
}

function fail(error: unknown, port: MessagePort): void {
  const message: FromWorker = {
    kind: 'failed',
    code: error instanceof SocketError ? error.code : '',
    message: messageOf(error),
  };
  port.postMessage(message);
  port.close();
}

if (parentPort !== null) {
  const port = parentPort;
  /** What has come while the listeners were being opened. */
  const early: (Uint8Array | ToWorker)[] = [];
  let hear = (message: Uint8Array | ToWorker): void => void early.push(message);
  port.on('message', (message: Uint8Array | ToWorker) => {
    if (message instanceof Uint8Array || message.kind !== 'setup') return hear(message);
    run(message.setup, port).then(
      (running) => {
        hear = running;
        for (const each of early.splice(0)) hear(each);
      },
      (error: unknown) => fail(error, port),
    );
  });
}
