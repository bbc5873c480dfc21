// A DNS server that answers with any bytes, at any pace.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer } from 'node:net';

import { encodeRecord } from '../../../../dnswire/record.ts';
import type { RawRecord } from '../../../../dnswire/record.ts';
import { MessageWriter } from '../../../../dnswire/writer.ts';
import { yieldToEventLoop } from '../../../../machine/timers.ts';
import type { ServerAddress } from '../connection.ts';

/** The pieces that are sent for a query with this id, one after the other. It may be endless. */
export type Answer = (id: number) => Iterable<Uint8Array> | AsyncIterable<Uint8Array>;

/** A DNS server with one answer to everything. */
export class HostileServer implements AsyncDisposable {
  readonly #server = createServer((socket) => this.#serve(socket));
  readonly #sockets = new Set<Socket>();
  readonly #answer: Answer;

  private constructor(answer: Answer) {
    this.#answer = answer;
  }

  static async start(answer: Answer): Promise<HostileServer> {
    const hostile = new HostileServer(answer);
    hostile.#server.listen(0, '127.0.0.1');
    await once(hostile.#server, 'listening');
    return hostile;
  }

  get place(): ServerAddress {
    return { address: '127.0.0.1', port: (this.#server.address() as AddressInfo).port }; // A cast: it listens on a port.
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay(true));
    socket.on('error', () => undefined); // the client closed it
    socket.once('data', (query: Buffer) => void this.#send(socket, query.readUInt16BE(2)));
  }

  async #send(socket: Socket, id: number): Promise<void> {
    const closed = new Promise((resolve) => void socket.once('close', resolve));
    for await (const piece of this.#answer(id)) {
      await yieldToEventLoop(); // the client is in this process
      if (socket.destroyed) return;
      const isTaken = socket.write(piece);
      if (!isTaken) await Promise.race([new Promise((resolve) => void socket.once('drain', resolve)), closed]);
    }
    socket.end();
  }
}

/** A message with its length in front. */
export function framed(message: Uint8Array): Uint8Array {
  const bytes = Buffer.alloc(message.length + 2);
  bytes.writeUInt16BE(message.length);
  bytes.set(message, 2);
  return bytes;
}

const response = 0x8000;

/** A response with answers. */
export function responseWith(answers: readonly RawRecord[], id: number, flags = response): Uint8Array {
  const writer = new MessageWriter();
  writer.header({ id, flags, questions: 0, answers: answers.length, authorities: 0, additionals: 0 });
  for (const answer of answers) writer.rawRecord(answer);
  return framed(writer.bytes());
}

/** The SOA record of example.org. */
export function soa(serial: number): RawRecord {
  const times = { refresh: 60, retry: 60, expire: 60, minimum: 60 };
  const data = encodeRecord({ type: 'SOA', primary: 'ns.example.net', mailbox: 'root.example.net', serial, ...times });
  assert.ok(data);
  return { owner: 'example.org', type: 6, class: 1, ttl: 60, data };
}

/** An A record. */
export const address = (owner: string, last: number): RawRecord => ({
  owner,
  type: 1,
  class: 1,
  ttl: 60,
  data: new Uint8Array([192, 0, 2, last]),
});
