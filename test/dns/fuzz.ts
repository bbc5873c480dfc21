// Sends mutated messages over UDP and TCP to a server: no crash, no hang, bounded memory and reply sizes.
//   npm run fuzz:dns -- [packets] [seed]
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import { encode } from 'dns-packet';

import type { Place } from './clients.ts';
import { Chance, mutated } from './mutate.ts';
import type { StandAlone } from './stands.ts';
import { applyFile, startAlone } from './stands.ts';

/** Messages between two control queries. */
const batch = 256;
/** The control query, which must always be answered. */
const alive = encode({ type: 'query', id: 0xffff, questions: [{ name: 'web.shop.svc.cluster.local', type: 'A' }] });
const deadlineMs = 10_000;

export interface FuzzOptions {
  readonly packets: number;
  readonly seed: number;
  readonly onBatch?: (sent: number) => void;
}

export interface FuzzResult {
  readonly replies: number;
  /** Bytes. */
  readonly largest: number;
}

/** A unique id for each message of a batch, different from that of `alive`. */
function numbered(message: Buffer, id: number): Buffer {
  if (message.length >= 2) message.writeUInt16BE(id, 0);
  return message;
}

/** The size limit of replies: 512 bytes, or 1232 if the message could be parsed with EDNS. */
const allowedFor = (message: Buffer | undefined): number => (message?.includes('\0\0\x29', 0, 'latin1') ? 1232 : 512);

/** Sends mutated datagrams. Rejects if the server does not answer in time or a reply is too large. */
export async function fuzzUdp({ address, port }: Place, { packets, seed, onBatch }: FuzzOptions): Promise<FuzzResult> {
  const chance = new Chance(seed);
  const socket = createSocket('udp4');
  let sent: Buffer[] = [];
  let replies = 0;
  let largest = 0;
  let failure: Error | undefined;
  let isAlive = (): void => undefined;
  socket.on('message', (reply) => {
    const id = reply.length < 12 ? -1 : reply.readUInt16BE(0);
    if (id === 0xffff && reply.length > 30 && (reply[3] ?? 0) % 16 === 0) return isAlive();
    replies++;
    largest = Math.max(largest, reply.length);
    // A late reply to the previous batch may have an id of this one, and its query may have had EDNS.
    const allowed = Math.max(allowedFor(sent[id]), allowedFor(last[id]));
    if (id === -1 || (reply[2] ?? 0) < 0x80) failure = new Error(`no reply: ${reply.toString('hex')}`);
    if (reply.length > allowed)
      failure = new Error(`${reply.length} bytes for ${sent[id]?.toString('hex')} (seed ${seed})`);
  });
  let last: Buffer[] = [];
  socket.connect(port, address);
  await once(socket, 'connect');
  socket.on('error', (error) => (failure = error));
  try {
    for (let done = 0; done < packets; done += batch) {
      last = sent;
      sent = Array.from({ length: batch }, (_, id) => numbered(mutated(chance), id));
      for (const message of sent) socket.send(message);
      const end = performance.now() + deadlineMs;
      await new Promise<void>((resolve, reject) => {
        const again = setInterval(() => {
          if (performance.now() > end) reject(new Error(`no answer for ${deadlineMs} ms after ${done} (seed ${seed})`));
          else socket.send(alive);
        }, 200);
        isAlive = () => {
          clearInterval(again);
          resolve();
        };
        socket.send(alive);
      });
      if (failure !== undefined) throw failure;
      onBatch?.(Math.min(done + batch, packets));
    }
  } finally {
    socket.close();
  }
  return { replies, largest };
}

/** Sends mutated messages over TCP; some have wrong lengths too, and then the connection is abandoned. */
export async function fuzzTcp(place: Place, { packets, seed, onBatch }: FuzzOptions): Promise<FuzzResult> {
  const chance = new Chance(seed);
  let replies = 0;
  let largest = 0;
  let connection: Connection | undefined;
  for (let done = 0; done < packets; done += batch) {
    connection ??= await Connection.open(place);
    const messages = Array.from({ length: batch }, (_, id) => numbered(mutated(chance), id));
    const isLost = chance.below(50) === 0;
    const frames = messages.flatMap((message) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(isLost ? chance.below(0x1_0000) : message.length);
      return [length, message];
    });
    const hasAnswered = await connection.send(Buffer.concat(frames), isLost);
    replies += connection.replies;
    largest = Math.max(largest, connection.largest);
    connection.replies = 0;
    if (!hasAnswered) {
      connection.close();
      connection = undefined; // the server may close the connection after a malformed message; the next control query must be answered
    }
    onBatch?.(Math.min(done + batch, packets));
  }
  connection?.close();
  return { replies, largest };
}

/** A TCP connection of the fuzzer. */
class Connection {
  replies = 0;
  largest = 0;
  readonly #socket: Socket;
  #rest: Buffer = Buffer.alloc(0);
  #isAlive: (is: boolean) => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(Buffer.concat([this.#rest, chunk])));
    socket.on('error', () => undefined); // closed, which the caller reports
    socket.on('close', () => this.#isAlive(false));
  }

  /** Opens a connection that answers; rejects after a timeout. */
  static async open({ address, port }: Place): Promise<Connection> {
    const socket = connect({ host: address, port, noDelay: true });
    await once(socket, 'connect', { signal: AbortSignal.timeout(deadlineMs) });
    const connection = new Connection(socket);
    assert.ok(await connection.send(Buffer.alloc(0), false), 'a new connection is answered');
    return connection;
  }

  /** Whether the reply arrived; if the connection is `lost`, nothing is awaited. */
  async send(bytes: Buffer, lost: boolean): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    this.#isAlive = resolve;
    const late = (): void =>
      lost ? resolve(false) : reject(new Error(`no answer over TCP for ${deadlineMs} ms: ${this.replies} replies`));
    const timer = setTimeout(late, lost ? 50 : deadlineMs);
    const frame = Buffer.alloc(2);
    frame.writeUInt16BE(alive.length);
    if (this.#socket.destroyed) resolve(false);
    else this.#socket.write(Buffer.concat([bytes, frame, alive]));
    return promise.finally(() => clearTimeout(timer));
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    let at = 0;
    for (; at + 2 <= bytes.length;) {
      const length = bytes.readUInt16BE(at);
      if (at + 2 + length > bytes.length) break;
      const reply = bytes.subarray(at + 2, at + 2 + length);
      at += 2 + length;
      if (reply.length >= 2 && reply.readUInt16BE(0) === 0xffff) {
        this.#isAlive(true);
      } else {
        this.replies++;
        this.largest = Math.max(this.largest, reply.length);
      }
    }
    this.#rest = bytes.subarray(at);
  }
}

/** An upstream that answers with mutated messages. */
export async function startLiar(seed: number): Promise<{ readonly port: number } & Disposable> {
  const chance = new Chance(seed);
  const socket = createSocket('udp4');
  socket.on('message', (query, { port, address }) => {
    const lie = mutated(chance);
    if (lie.length > 4 && query.length > 1) {
      query.copy(lie, 0, 0, 2);
      lie[2] = (lie[2] ?? 0) | 0x80;
    }
    socket.send(lie, port, address);
  });
  socket.on('error', () => undefined); // it has gone
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return { port: socket.address().port, [Symbol.dispose]: () => void socket.close() };
}

/** The tested server, with records in every zone and a malicious upstream. */
export async function startVictim(liarPort: number): Promise<StandAlone> {
  const upstream = ['--upstream', `127.0.0.1:${liarPort}`, '--forward-timeout', '200ms', '--log-level', 'warn'];
  const stand = await startAlone(upstream);
  await applyFile(stand, 'catalogue.yaml');
  return stand;
}

if (import.meta.main) {
  const [packets = 10_000_000, seed = Date.now() & 0x7fff_ffff] = process.argv.slice(2).map(Number);
  using liar = await startLiar(seed);
  await using stand = await startVictim(liar.port);
  const startedAt = performance.now();
  const mib = async (): Promise<number> => Math.round((await stand.process.residentBytes()) / 1024 / 1024);
  let shownAt = 0;
  const show = (protocol: string) => (sent: number) => {
    if (performance.now() - shownAt < 10_000) return;
    shownAt = performance.now();
    void mib().then((size) => console.log(`${protocol} ${sent} sent, server ${size} MiB`));
  };
  console.log(`${packets} messages, seed ${seed}, server ${await mib()} MiB`);
  const half = Math.ceil(packets / 2);
  // Memory grows until the caches are full; then it must not.
  const warm = await fuzzUdp(stand.dns, { packets: Math.ceil(half / 5), seed: seed + 1, onBatch: show('warming') });
  const before = await mib();
  const udp = await fuzzUdp(stand.dns, { packets: half, seed, onBatch: show('UDP') });
  const tcp = await fuzzTcp(stand.dns, { packets: half, seed, onBatch: show('TCP') });
  const after = await mib();
  console.log({ warm, udp, tcp, before, after, seconds: Math.round((performance.now() - startedAt) / 1000) });
  assert.equal(stand.process.hasEnded, false, 'the server still runs');
  assert.ok(after < before + 64, `memory grew from ${before} to ${after} MiB`);
  assert.doesNotMatch(stand.process.err, /worker died/, stand.process.err);
}
