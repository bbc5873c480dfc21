import { setTimeout as delay } from 'node:timers/promises';

import { toSlowPath } from './answerer.ts';
import type { Listener, WorkerContext } from './responder.ts';
import type { BoundSocket, Native, SocketWatch } from './native.ts';
import { BatchSocket } from './udp-batch.ts';

/** Batches per turn of the event loop. */
const batchesPerTurn = 16;
/** After a smaller batch, waiting for the next event is cheaper than another call. */
const minFullBatch = 8;
/** Datagrams may still be on their way to a socket that has just left its group. */
const quietMs = 5;

/** Answers datagrams in batches, on a socket that the main thread opened. */
export class UdpBatchListener implements Listener {
  readonly #socket: BatchSocket;
  readonly #context: WorkerContext;
  /** Referenced, since garbage collection would end the watch. */
  readonly #watch: SocketWatch;

  constructor(native: Native, socket: BoundSocket, context: WorkerContext) {
    this.#socket = new BatchSocket(native, socket);
    this.#context = context;
    this.#watch = native.watch(socket.fd, () => this.#turn());
  }

  async drain(): Promise<void> {
    this.#socket.divert();
    do {
      this.#turn();
      await delay(quietMs);
    } while (this.#batch() > 0);
  }

  close(): void {
    this.#watch.close();
  }

  #turn(): void {
    for (let batches = 0; batches < batchesPerTurn; batches++) if (this.#batch() < minFullBatch) return;
  }

  /** Receives and answers a batch; returns its size. */
  #batch(): number {
    const socket = this.#socket;
    const received = socket.receive();
    if (received === 0) return 0;
    const { responder, slowPath } = this.#context;
    const { counters } = responder;
    const started = performance.now();
    const { queries, replies, queryStride, replyStride, isInet6 } = socket;
    let replied = 0;
    responder.begin();
    for (let index = 0; index < received; index++) {
      const start = index * queryStride;
      const at = replied * replyStride;
      const bytes = socket.queryLength(index);
      const made = responder.respond(queries, start, bytes, replies, at, isInet6, true, socket, index);
      if (made === toSlowPath) {
        this.#toSlowPath(index, start, bytes);
        continue;
      }
      const length = responder.limit(socket.clientHash(index), started, replies, at, made);
      if (length > 0) socket.reply(replied++, index, length);
    }
    responder.end();
    const unsent = socket.unsent;
    socket.send(replied, received);
    if (socket.unsent !== unsent) counters.count('unsent', socket.unsent - unsent);
    if (replied > 0) counters.duration(0, (performance.now() - started) / 1000, replied);
    slowPath.flush();
    return received;
  }

  #toSlowPath(index: number, start: number, length: number): void {
    const socket = this.#socket;
    const peer = socket.peer(index);
    this.#context.slowPath.send(socket.queries.subarray(start, start + length), socket.client(index), (message) => {
      if (message !== undefined) socket.sendTo(message, peer);
    });
  }
}
