import { setTimeout } from '../../machine/timers.ts';
import type { SlowPath } from '../prepared.ts';
import { SlowPathQueue } from './slow-path-queue.ts';
import type { DnsStats } from './counters.ts';
import { counterBytes, Counters, readCounters } from './counters.ts';
import { unpackQueries } from './slow-path-messages.ts';
import type { BoundSocket, Native } from './native.ts';
import { loadNative, openSocket, SocketError } from './native.ts';
import type { DnsLimits, ListenAddress, ReplySettings, WorkerSetup } from './protocol.ts';
import type { AnswerTable } from './table.ts';
import { tryAlone } from './udp-dgram.ts';
import { WorkerHandle } from './worker-handle.ts';

export interface DnsServerOptions {
  readonly listen: readonly ListenAddress[];
  /** How many threads answer; 1 by default. */
  readonly workers?: number;
  readonly table: AnswerTable;
  readonly slowPath: SlowPath;
  readonly limits?: DnsLimits;
  readonly reply?: ReplySettings;
  /** Listen even if another process has the port and shares it too, as for taking over from one; false by default. */
  readonly share?: boolean;
  /** `dgram`: only what Node has; `batch`: native calls, where they can be had. The default. */
  readonly transport?: 'batch' | 'dgram';
  /** Told of what went wrong but was got over: a worker that died, a slow path that threw. */
  readonly onError: (error: unknown) => void;
}

/** A DNS server that runs. */
export interface RunningDns {
  readonly addresses: readonly ListenAddress[];
  /** How datagrams are received: `dgram` where native calls cannot be had. */
  readonly transport: 'batch' | 'dgram';
  stats(): DnsStats;
  /**
   * Answers from another table from now on, which may come with another word on whether names of others can be asked
   * for; resolves when no worker reads the old one.
   */
  useTable(table: AnswerTable, reply?: Pick<ReplySettings, 'recursionAvailable'>): Promise<void>;
  /** Answers what has come and stops. `timeoutMs`: how long questions for the slow path may take; 5 s by default. */
  close(timeoutMs?: number): Promise<void>;
}

const socketBufferBytes = 4 * 1024 * 1024;
/** Another free port is tried so often when TCP lacks the one that UDP was given. */
const portAttempts = 8;
const restartDelayMs = 1000;
const releaseDelayMs = 50;

/** Starts to answer on every address; rejects with an error that names the address if one cannot be had. */
export async function startDnsServer(options: DnsServerOptions): Promise<RunningDns> {
  const native = options.transport === 'dgram' ? undefined : await loadNative();
  const canRetry = options.listen.some(({ port }) => port === 0);
  for (let attempt = 1; ; attempt++) {
    const server = new DnsServer(options, native);
    try {
      await server.start();
      return server;
    } catch (error) {
      await server.abandon();
      const isTaken = error instanceof SocketError && error.code === 'EADDRINUSE';
      if (!isTaken || !canRetry || attempt === portAttempts) throw error;
    }
  }
}

class DnsServer implements RunningDns {
  addresses: readonly ListenAddress[] = [];
  readonly #options: Omit<DnsServerOptions, 'table' | 'reply'>;
  readonly #native: Native | undefined;
  readonly #workerCount: number;
  /** Several sockets have the port, so each must say that it agrees. */
  readonly #reusePort: boolean;
  readonly #queue: SlowPathQueue;
  readonly #workers = new Set<WorkerHandle>();
  readonly #sockets: BoundSocket[] = [];
  /** Those of this thread first, then those of each worker. */
  readonly #counterBuffers: SharedArrayBuffer[] = [];
  readonly #counters: Counters;
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** Questions without an answer that their workers still count. */
  readonly #unanswered: { readonly worker: WorkerHandle; readonly token: number }[] = [];
  #table: AnswerTable;
  #reply: ReplySettings;
  #isClosing = false;

  constructor({ table, reply = {}, ...options }: DnsServerOptions, native: Native | undefined) {
    const { slowPath, limits = {}, onError, workers = 1, share = false } = options;
    this.#options = options;
    this.#native = native;
    this.#table = table;
    this.#reply = reply;
    // Elsewhere than on Linux sockets that share a port do not share what comes.
    this.#workerCount = process.platform === 'linux' ? workers : 1;
    this.#reusePort = share || this.#workerCount > 1;
    this.#queue = new SlowPathQueue({ ...limits, slowPath, onError });
    this.#counters = new Counters(this.#newCounters());
  }

  get transport(): 'batch' | 'dgram' {
    return this.#native === undefined ? 'dgram' : 'batch';
  }

  async start(): Promise<void> {
    const { listen } = this.#options;
    if (this.#native !== undefined) {
      this.addresses = listen.map((each) => this.#openSockets(each));
      await this.#startWorkers(this.#workerCount);
      return;
    }
    for (const each of this.#alone(listen)) await tryAlone(each);
    // The first finds the ports that the others share with it.
    const first = this.#startWorker(0, listen);
    const ports = await first.ready;
    this.addresses = listen.map(({ address, port }, index) => ({ address, port: ports[index] ?? port }));
    await this.#startWorkers(this.#workerCount - 1);
  }

  stats(): DnsStats {
    return readCounters(this.#counterBuffers);
  }

  async useTable(table: AnswerTable, reply: Pick<ReplySettings, 'recursionAvailable'> = {}): Promise<void> {
    const old = this.#table;
    this.#table = table;
    this.#reply = { ...this.#reply, ...reply };
    const { recursionAvailable = false } = this.#reply;
    const switched = [...this.#workers].map(async (worker) => {
      const before = worker.table;
      const share = table.share();
      await worker.useTable(share, recursionAvailable);
      old.unshare(before);
      // It died meanwhile, and what takes its place has a share of its own.
      if (!this.#workers.has(worker)) table.unshare(share);
    });
    await Promise.all(switched);
  }

  async close(timeoutMs: number = 5000): Promise<void> {
    this.#isClosing = true;
    for (const timer of this.#restarts) clearTimeout(timer);
    await Promise.all([...this.#workers].map(async (worker) => worker.drain(timeoutMs)));
    this.#free();
  }

  /** Frees what a start that failed has opened. */
  async abandon(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#workers].map(async (worker) => worker.stop()));
    this.#free();
  }

  #free(): void {
    for (const { fd } of this.#sockets.splice(0)) this.#native?.close(fd);
    for (const { table } of this.#workers) this.#table.unshare(table);
    this.#workers.clear();
  }

  /** A socket for each worker; returns the address with the port that was found. */
  #openSockets({ address, port }: ListenAddress): ListenAddress {
    const native = this.#native;
    if (native === undefined) throw new Error('bug: sockets without native calls');
    for (const each of this.#alone([{ address, port }])) {
      native.close(openSocket(native, { ...each, share: false, bufferBytes: 0 }).fd);
    }
    let bound = port;
    for (let worker = 0; worker < this.#workerCount; worker++) {
      const options = { address, port: bound, share: this.#reusePort, bufferBytes: socketBufferBytes };
      const socket = openSocket(native, options);
      this.#sockets.push(socket);
      bound = socket.port;
    }
    return { address, port: bound };
  }

  /** Who shares a port does not notice another that shares it; these must be had alone first. */
  #alone(listen: readonly ListenAddress[]): readonly ListenAddress[] {
    const isShared = this.#options.share === true || !this.#reusePort;
    return isShared ? [] : listen.filter(({ port }) => port !== 0);
  }

  async #startWorkers(count: number): Promise<void> {
    const started = Array.from({ length: count }, (_, index) => this.#startWorker(index, this.addresses));
    await Promise.all(started.map(async (worker) => worker.ready));
  }

  #startWorker(index: number, listen: readonly ListenAddress[]): WorkerHandle {
    const { limits = {} } = this.#options;
    const isBatch = this.#native !== undefined;
    return this.#run({
      table: this.#table.share(),
      counters: this.#newCounters(),
      sockets: this.#sockets.filter((_, socket) => socket % this.#workerCount === index),
      dgram: isBatch ? [] : listen,
      tcp: listen,
      reusePort: this.#reusePort,
      limits: this.#shareOf(limits),
      reply: this.#reply,
    });
  }

  /** Each worker takes its share of what the server as a whole may take. */
  #shareOf(limits: DnsLimits): DnsLimits {
    const part = (whole: number): number => Math.ceil(whole / this.#workerCount);
    return { ...limits, maxConnections: part(limits.maxConnections ?? 1024) };
  }

  #run(setup: WorkerSetup): WorkerHandle {
    const worker = new WorkerHandle(setup, {
      onAsks: (packed, from) => this.#ask(packed, from),
      onDeath: (error, dead) => this.#restart(error, dead),
    });
    this.#workers.add(worker);
    return worker;
  }

  /** Sockets for batches are this thread's, so queries wait in them while a worker is replaced. */
  #restart(error: unknown, dead: WorkerHandle): void {
    if (!this.#workers.delete(dead) || this.#isClosing) return;
    this.#table.unshare(dead.table);
    this.#options.onError(new Error('a DNS worker died and is started again', { cause: error }));
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      // What listened on port 0 listens on the port it had.
      const dgram = dead.setup.dgram.length > 0 ? this.addresses : [];
      const next = this.#run({
        ...dead.setup,
        table: this.#table.share(),
        reply: this.#reply,
        dgram,
        tcp: this.addresses,
      });
      next.ready.catch((failure: unknown) => this.#restart(failure, next));
    }, restartDelayMs);
    this.#restarts.add(timer);
  }

  #ask(packed: Uint8Array, worker: WorkerHandle): void {
    const started = performance.now();
    for (const { token, client, query } of unpackQueries(packed)) {
      this.#queue.add(query, client, (messages) => {
        const protocol = client.protocol === 'udp' ? 0 : 1;
        if (messages.length === 0) return this.#release(worker, token);
        this.#counters.duration(protocol, (performance.now() - started) / 1000, 1);
        for (const [index, message] of messages.entries()) {
          this.#counters.response(protocol, (message[3] ?? 0) & 0xf, message.length);
          worker.tell({ token, message, isLast: index === messages.length - 1 });
        }
      });
    }
  }

  /**
   * Tells a worker that there is nothing to send. Not at once: what is given up under a flood would only make room for more
   * of it, and the bound on what a worker may have asked becomes a bound on the rate.
   */
  #release(worker: WorkerHandle, token: number): void {
    if (this.#unanswered.push({ worker, token }) > 1) return;
    setTimeout(() => {
      for (const each of this.#unanswered.splice(0)) {
        each.worker.tell({ token: each.token, message: undefined, isLast: true });
      }
    }, releaseDelayMs);
  }

  #newCounters(): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(counterBytes);
    this.#counterBuffers.push(buffer);
    return buffer;
  }
}
