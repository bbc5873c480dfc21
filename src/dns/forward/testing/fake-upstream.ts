import type { RemoteInfo, Socket as DatagramSocket } from 'node:dgram';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';

import type { Answer, Packet } from 'dns-packet';
import { AUTHORITATIVE_ANSWER, decode, encode, RECURSION_AVAILABLE } from 'dns-packet';

import type { Endpoint } from '../udp.ts';

/** A received query, with functions to reply. */
export interface Arrival {
  readonly bytes: Buffer;
  readonly name: string;
  readonly type: string;
  readonly id: number;
  readonly via: 'udp' | 'tcp';
  /** The source port. */
  readonly port: number;
  /** The name in its original case. */
  readonly packet: Packet;
  /** Sends bytes unchanged. */
  send(bytes: Uint8Array): void;
  /** Sends datagrams from another socket. */
  forge(bytes: Uint8Array): void;
}

/** The reaction of an upstream to a query. */
export type Behaviour = (arrival: Arrival, server: FakeUpstream) => void;

/** A programmable DNS server for tests, over UDP and TCP on one port, with another codec. */
export class FakeUpstream implements AsyncDisposable {
  behaviour: Behaviour;
  readonly arrivals: Arrival[] = [];
  connections = 0;
  /** Sends this many bytes at a time over TCP. */
  pieceBytes = Infinity;
  readonly #udp: DatagramSocket;
  readonly #other: DatagramSocket;
  readonly #tcp: Server;
  readonly #sockets = new Set<Socket>();
  #isClosed = false;

  private constructor(behaviour: Behaviour, sockets: { udp: DatagramSocket; other: DatagramSocket; tcp: Server }) {
    this.behaviour = behaviour;
    this.#udp = sockets.udp;
    this.#other = sockets.other;
    this.#tcp = sockets.tcp;
    sockets.udp.on('message', (bytes, from) => this.#takeDatagram(bytes, from));
    sockets.tcp.on('connection', (socket) => this.#takeConnection(socket));
  }

  static async start(behaviour: Behaviour): Promise<FakeUpstream> {
    for (let attempt = 0; ; attempt++) {
      const tcp = createServer().listen(0, '127.0.0.1');
      await once(tcp, 'listening');
      const udp = createSocket('udp4');
      try {
        udp.bind(portOf(tcp), '127.0.0.1');
        await once(udp, 'listening');
        return new FakeUpstream(behaviour, { udp, other: createSocket('udp4'), tcp });
      } catch (error) {
        // The port is in use for UDP: try another.
        tcp.close();
        if (attempt === 10) throw error;
      }
    }
  }

  get endpoint(): Endpoint {
    return { address: '127.0.0.1', port: this.#udp.address().port };
  }

  /** Received queries, without probes. */
  queriesFor(name: string): readonly Arrival[] {
    return this.arrivals.filter((arrival) => arrival.name.toLowerCase() === name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const socket of this.#sockets) socket.destroy();
    this.#other.close();
    this.#udp.close();
    this.#tcp.close();
    await Promise.all([once(this.#udp, 'close'), once(this.#tcp, 'close')]);
  }

  #takeDatagram(bytes: Buffer, from: RemoteInfo): void {
    // A slow behaviour may reply after the server was closed.
    const sendBy =
      (socket: DatagramSocket) =>
      (answer: Uint8Array): void => {
        if (!this.#isClosed) socket.send(answer, from.port, from.address);
      };
    const [send, forge] = [sendBy(this.#udp), sendBy(this.#other)];
    this.#take(bytes, { via: 'udp', port: from.port, send, forge });
  }

  #takeConnection(socket: Socket): void {
    this.connections += 1;
    socket.setNoDelay(true);
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => {});
    let received = Buffer.alloc(0);
    const send = (reply: Uint8Array): void => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(reply.length);
      const framed = Buffer.concat([length, reply]);
      const step = Math.min(this.pieceBytes, framed.length);
      for (let at = 0; at < framed.length; at += step) socket.write(framed.subarray(at, at + step));
    };
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const bytes = Buffer.from(received.subarray(2, end));
        received = Buffer.from(received.subarray(end));
        this.#take(bytes, { via: 'tcp', port: socket.remotePort ?? 0, send, forge: send });
      }
    });
  }

  #take(bytes: Buffer, way: Pick<Arrival, 'via' | 'port' | 'send' | 'forge'>): void {
    const packet = decode(bytes);
    const question = packet.questions?.[0];
    const arrival = {
      ...way,
      bytes,
      packet,
      name: question?.name ?? '',
      type: question?.type ?? '',
      id: packet.id ?? 0,
    };
    this.arrivals.push(arrival);
    this.behaviour(arrival, this);
  }
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('bug: a TCP server without a port');
  return address.port;
}

/** A reply to a query; its question and id can be wrong on purpose. */
export function reply(
  arrival: Arrival,
  answers: readonly Answer[],
  changes: Partial<Packet> & { rcode?: number } = {},
): Buffer {
  const { rcode = 0, ...packet } = changes;
  return encode({
    type: 'response',
    id: arrival.id,
    questions: arrival.packet.questions ?? [],
    answers: [...answers],
    ...packet,
    flags: (packet.flags ?? AUTHORITATIVE_ANSWER | RECURSION_AVAILABLE) | rcode,
  });
}

/** Answers every A query with an address. */
export const answers =
  (address: string, ttl = 60): Behaviour =>
  (arrival) =>
    arrival.send(reply(arrival, [{ name: arrival.name, type: 'A', ttl, data: address }]));

/** Answers with only a response code. */
export const answersCode =
  (rcode: number): Behaviour =>
  (arrival) =>
    arrival.send(reply(arrival, [], { rcode }));

/** Never answers. */
export const silent: Behaviour = () => {};

/** Drops every n-th query, and handles the others with `then`. */
export function loses(every: number, then: Behaviour): Behaviour {
  let count = 0;
  return (arrival, server) => {
    count += 1;
    if (count % every !== 0) then(arrival, server);
  };
}

/** Delays a behaviour. */
export const slow =
  (ms: number, then: Behaviour): Behaviour =>
  (arrival, server) =>
    void setTimeout(then, ms, arrival, server);
