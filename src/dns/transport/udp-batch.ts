import { maxUdpReplyBytes } from './answerer.ts';
import type { RawClient } from './slow-path-messages.ts';
import { addressText } from '../../dnswire/address.ts';
import type { BoundSocket, Native } from './native.ts';
import { encodeSocketAddress, families, socketAddressBytes } from './native.ts';
import type { ClientAddresses } from './responder.ts';

// Sizes and offsets in the kernel's structures on 64-bit Linux, in bytes.
const messageHeader = { size: 64, name: 0, nameLength: 8, vector: 16, vectors: 24, control: 32, controlLength: 40, flags: 48, length: 56 }; // prettier-ignore
const vectorBytes = 16;

/** Datagrams per call. Larger batches gain nothing: the call is 3 % of the cost. */
const batchSize = 64;
/** Longer queries are ignored. */
const queryBytes = 2048;
const replyBytes = maxUdpReplyBytes + 48;
const nameBytes = 32;
/** The size of a control message with the local address of a datagram. */
const controlBytes = 48;
/** The offset of the interface index in that control message for IPv4. */
const interfaceOffset = 16;

const dontWait = 0x40;
const truncatedFlag = 0x20;
const again = 11;
const writable = 4;
const sendWaitMs = 5;

/**
 * A datagram socket with batched I/O. The kernel's structures are created once, in one buffer, with real pointers; a batch
 * then costs two calls and changes only lengths.
 */
export class BatchSocket implements ClientAddresses {
  /** Queries: the i-th is at `i * queryStride`. */
  readonly queries: Uint8Array;
  readonly queryStride: number = queryBytes;
  /** Replies: the i-th is at `i * replyStride`. */
  readonly replies: Uint8Array;
  readonly replyStride: number = replyBytes;
  /** Number of replies that could not be sent. */
  unsent = 0;
  readonly #native: Native;
  readonly #socket: BoundSocket;
  readonly #addressLength: number;
  /** Referenced, since the kernel writes to it. */
  readonly #memory: Buffer;
  readonly #words: Uint32Array;
  readonly #longs: BigUint64Array;
  readonly #receiveAddress: bigint;
  readonly #sendAddress: bigint;
  readonly #receiveStart: number;
  readonly #sendStart: number;
  readonly #namesStart: number;
  readonly #controlsStart: number;
  readonly #sendVectorsStart: number;
  readonly #namePointers: readonly bigint[];
  readonly #controlPointers: readonly bigint[];
  /** Reply → the query whose address its header has. */
  readonly #addressed = new Uint8Array(batchSize);
  readonly #pollEntry = new Uint8Array(8);

  constructor(native: Native, socket: BoundSocket) {
    this.#native = native;
    this.#socket = socket;
    this.#addressLength = socketAddressBytes(socket.family);
    let size = 0;
    const part = (bytes: number): number => {
      const start = size;
      size += bytes * batchSize;
      return start;
    };
    this.#receiveStart = part(messageHeader.size);
    this.#sendStart = part(messageHeader.size);
    const receiveVectors = part(vectorBytes);
    this.#sendVectorsStart = part(vectorBytes);
    this.#namesStart = part(nameBytes);
    this.#controlsStart = part(controlBytes);
    const queries = part(queryBytes);
    const replies = part(replyBytes);
    this.#memory = Buffer.from(new ArrayBuffer(size));
    const address = native.addressOf(this.#memory);
    this.#words = new Uint32Array(this.#memory.buffer);
    this.#longs = new BigUint64Array(this.#memory.buffer);
    this.queries = new Uint8Array(this.#memory.buffer, queries, queryBytes * batchSize);
    this.replies = new Uint8Array(this.#memory.buffer, replies, replyBytes * batchSize);
    const pointers = (start: number, stride: number): bigint[] =>
      Array.from({ length: batchSize }, (_, index) => address + BigInt(start + index * stride));
    this.#namePointers = pointers(this.#namesStart, nameBytes);
    this.#controlPointers = pointers(this.#controlsStart, controlBytes);
    this.#receiveAddress = address + BigInt(this.#receiveStart);
    this.#sendAddress = address + BigInt(this.#sendStart);
    this.#prepare(this.#receiveStart, receiveVectors, pointers(queries, queryBytes), queryBytes);
    this.#prepare(this.#sendStart, this.#sendVectorsStart, pointers(replies, replyBytes), 0);
    for (let index = 0; index < batchSize; index++) this.#addressed[index] = index;
    new DataView(this.#pollEntry.buffer).setInt32(0, socket.fd, true);
    new DataView(this.#pollEntry.buffer).setInt16(4, writable, true);
  }

  /** Initializes an array of message headers and their vectors. */
  #prepare(headers: number, vectors: number, data: readonly bigint[], dataBytes: number): void {
    const base = this.#receiveAddress - BigInt(this.#receiveStart);
    for (const [index, pointer] of data.entries()) {
      const header = headers + index * messageHeader.size;
      const vector = vectors + index * vectorBytes;
      this.#longs[(header + messageHeader.name) >> 3] = this.#namePointers[index] ?? 0n;
      this.#words[(header + messageHeader.nameLength) >> 2] = this.#addressLength;
      this.#longs[(header + messageHeader.vector) >> 3] = base + BigInt(vector);
      this.#longs[(header + messageHeader.vectors) >> 3] = 1n;
      if (this.#socket.isWildcard) {
        this.#longs[(header + messageHeader.control) >> 3] = this.#controlPointers[index] ?? 0n;
        this.#words[(header + messageHeader.controlLength) >> 2] = controlBytes;
      }
      this.#longs[vector >> 3] = pointer;
      this.#longs[(vector + 8) >> 3] = BigInt(dataBytes);
    }
  }

  get isInet6(): boolean {
    return this.#socket.family === families.inet6;
  }

  /**
   * Diverts new datagrams to other sockets on the port: a connected socket receives only from its peer, and the peer is a
   * port without a sender. Datagrams already received stay.
   */
  divert(): void {
    const discardPort = 9;
    const own = this.#socket.isWildcard ? undefined : this.#native.boundAddress(this.#socket.fd);
    const loopback = encodeSocketAddress(this.isInet6 ? '::1' : '127.0.0.1', discardPort);
    const peer = own ?? loopback;
    if (peer === undefined) return;
    peer[2] = 0;
    peer[3] = discardPort;
    this.#native.connect(this.#socket.fd, peer, this.#addressLength);
  }

  /** Receives up to a batch; returns the number of datagrams. */
  receive(): number {
    const received = this.#native.recvmmsg(this.#socket.fd, this.#receiveAddress, batchSize, dontWait, 0);
    return received < 0 ? 0 : received;
  }

  /** The length of a received query; 0 if it is too long. */
  queryLength(index: number): number {
    const header = (this.#receiveStart + index * messageHeader.size) >> 2;
    const flags = this.#words[header + messageHeader.flags / 4] ?? 0;
    return (flags & truncatedFlag) !== 0 ? 0 : (this.#words[header + messageHeader.length / 4] ?? 0);
  }

  /** A number for the client of a query: its address, or the /64 of an IPv6 address. */
  clientHash(index: number): number {
    const at = (this.#namesStart + index * nameBytes) >> 2;
    const words = this.#words;
    return this.#socket.family === families.inet ? (words[at + 1] ?? 0) : (words[at + 2] ?? 0) ^ (words[at + 3] ?? 0);
  }

  /** The client of a query, for the slow path. */
  client(index: number): RawClient {
    const at = this.#namesStart + index * nameBytes;
    const isInet = this.#socket.family === families.inet;
    const address = this.#memory.subarray(isInet ? at + 4 : at + 8, isInet ? at + 8 : at + 24);
    return { protocol: 'udp', address, port: this.#memory.readUInt16BE(at + 2) };
  }

  addressText(index: number): string {
    return addressText(this.client(index).address);
  }

  /** The sender's address and control message, to send the reply later. */
  peer(index: number): Uint8Array {
    const peer = new Uint8Array(nameBytes + (this.#socket.isWildcard ? controlBytes + 4 : 0));
    peer.set(this.#memory.subarray(this.#namesStart + index * nameBytes).subarray(0, nameBytes));
    if (!this.#socket.isWildcard) return peer;
    const control = this.#controlsStart + index * controlBytes;
    peer.set(this.#memory.subarray(control, control + controlBytes), nameBytes);
    peer[nameBytes + controlBytes] = this.#controlLength(index);
    return peer;
  }

  #controlLength(index: number): number {
    return this.#words[(this.#receiveStart + index * messageHeader.size + messageHeader.controlLength) >> 2] ?? 0;
  }

  /** Addresses a reply of the given length to the sender of a query. */
  reply(number: number, query: number, length: number): void {
    const header = this.#sendStart + number * messageHeader.size;
    this.#words[(this.#sendVectorsStart + number * vectorBytes + 8) >> 2] = length;
    if (this.#addressed[number] !== query) {
      this.#addressed[number] = query;
      this.#longs[(header + messageHeader.name) >> 3] = this.#namePointers[query] ?? 0n;
      this.#longs[(header + messageHeader.control) >> 3] = this.#socket.isWildcard
        ? (this.#controlPointers[query] ?? 0n)
        : 0n;
    }
    if (this.#socket.isWildcard) this.#setSource(header, query, this.#controlLength(query));
  }

  /** Sends the reply from the address that the query was sent to, on the interface that routing selects. */
  #setSource(header: number, query: number, length: number): void {
    this.#words[(header + messageHeader.controlLength) >> 2] = length;
    if (this.#socket.family !== families.inet) return;
    this.#words[(this.#controlsStart + query * controlBytes + interfaceOffset) >> 2] = 0;
  }

  /** Sends the first `count` replies, and prepares the structures for the next batch. */
  send(count: number, received: number): void {
    let sent = 0;
    let hasWaited = false;
    while (sent < count) {
      const from = this.#sendAddress + BigInt(sent * messageHeader.size);
      const now = this.#native.sendmmsg(this.#socket.fd, sent === 0 ? this.#sendAddress : from, count - sent, dontWait);
      if (now > 0) {
        sent += now;
      } else if (this.#native.errno() === again && !hasWaited) {
        // The send buffer is full: wait briefly instead of dropping finished replies.
        hasWaited = true;
        this.#native.poll(this.#pollEntry, 1, sendWaitMs);
      } else {
        // This reply cannot be sent (no route, port 0, a filter); continue with the next.
        this.unsent++;
        sent++;
      }
    }
    if (this.#socket.isWildcard) this.#resetControls(received);
  }

  /** Sends one reply to a stored peer. Not while a batch is being answered. */
  sendTo(reply: Uint8Array, peer: Uint8Array): void {
    if (reply.length > replyBytes) {
      this.unsent++;
      return;
    }
    this.#memory.set(peer.subarray(0, nameBytes), this.#namesStart);
    this.replies.set(reply);
    if (this.#socket.isWildcard) {
      this.#memory.set(peer.subarray(nameBytes, nameBytes + controlBytes), this.#controlsStart);
      const header = this.#receiveStart + messageHeader.controlLength;
      this.#words[header >> 2] = peer[nameBytes + controlBytes] ?? 0;
    }
    this.reply(0, 0, reply.length);
    this.send(1, 1);
  }

  /** Resets the lengths of control messages, which the kernel has overwritten. */
  #resetControls(received: number): void {
    for (let index = 0; index < received; index++) {
      const header = this.#receiveStart + index * messageHeader.size;
      this.#words[(header + messageHeader.controlLength) >> 2] = controlBytes;
    }
  }
}
