// The program of a worker thread: opens listeners and answers until it is drained.
import { setTimeout as delay } from 'node:timers/promises';
import type { MessagePort } from 'node:worker_threads';
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../api/error-message.ts';
import { Cookies } from '../message/cookie.ts';
import { SlowPathClient } from './slow-path-client.ts';
import { Counters } from './counters.ts';
import { ClientLimiter } from './limiter.ts';
import type { Listener, WorkerContext } from './responder.ts';
import { TableReader } from './lookup.ts';
import { loadNative, SocketError } from './native.ts';
import type { FromWorker, ToWorker, WorkerSetup } from './protocol.ts';
import { Responder } from './responder.ts';
import { TcpListener } from './tcp.ts';
import { UdpBatchListener } from './udp-batch-listener.ts';
import { UdpDgramListener } from './udp-dgram.ts';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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
    cookies: secrets.length === 0 ? undefined : new Cookies({ secrets }),
    responses: limits.responsesPerClient === undefined ? undefined : new ClientLimiter(limits.responsesPerClient),
  });
  return { responder, slowPath };
}

/** Opens all listeners; returns the ports of the datagram sockets, or of TCP if the main thread opened those. */
async function open(setup: WorkerSetup, context: WorkerContext): Promise<{ listeners: Listener[]; ports: number[] }> {
  const listeners: Listener[] = [];
  try {
    const native = setup.sockets.length === 0 ? undefined : await loadNative();
    for (const socket of setup.sockets) {
      if (native === undefined) throw new Error('bug: batched sockets without native calls');
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
  // A pending timer would keep the thread running.
  await Promise.race([all.finally(() => timer.abort()), delay(timeoutMs, undefined, timer).catch(() => undefined)]);
  for (const listener of listeners) listener.close();
}

/** Starts the listeners; returns the handler of further messages from the main thread. */
async function run(setup: WorkerSetup, port: MessagePort): Promise<(message: Uint8Array | ToWorker) => void> {
  const post = (message: FromWorker): void => port.postMessage(message);
  const context = makeContext(setup, port);
  const { listeners, ports } = await open(setup, context);
  post({ kind: 'ready', ports });
  return (message) => {
    if (message instanceof Uint8Array) {
      context.slowPath.replied(message);
    } else if (message.kind === 'table') {
      context.responder.useTable(new TableReader(message.table), message.recursionAvailable);
      post({ kind: 'switched' });
      collectGarbage(); // frees the previous table
    } else if (message.kind === 'drain') {
      // The thread exits when nothing keeps it running.
      void drain(listeners, context, message.timeoutMs).then(() => {
        post({ kind: 'drained' });
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
  /** Messages that arrived while the listeners were being opened. */
  const early: (Uint8Array | ToWorker)[] = [];
  let handle = (message: Uint8Array | ToWorker): void => void early.push(message);
  port.on('message', (message: Uint8Array | ToWorker) => {
    if (message instanceof Uint8Array || message.kind !== 'setup') return handle(message);
    run(message.setup, port).then(
      (running) => {
        handle = running;
        for (const each of early.splice(0)) handle(each);
      },
      (error: unknown) => fail(error, port),
    );
  });
}

/**
 * Runs the garbage collector. A thread without allocations never does, and would keep the shared memory of all tables it
 * ever read. Takes a few milliseconds.
 */
export function collectGarbage(): void {
  // Only contexts created after this flag have the function.
  setFlagsFromString('--expose-gc');
  // A cast: `gc` is a function of V8.
  const collect = runInNewContext('gc') as () => void;
  collect();
}
