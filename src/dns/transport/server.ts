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
import { checkUnused } from './udp-dgram.ts';
import { WorkerHandle } from './worker-handle.ts';

export interface DnsServerOptions {
  readonly listen: readonly ListenAddress[];
  /** Number of worker threads; 1 by default. */
  readonly workers?: number;
  readonly table: AnswerTable;
  readonly slowPath: SlowPath;
  readonly limits?: DnsLimits;
  readonly reply?: ReplySettings;
  /** Listens even if another process shares the port, to take over from it; false by default. */
  readonly share?: boolean;
  /** `dgram`: Node's sockets; `batch`: native calls if available. The default. */
  readonly transport?: 'batch' | 'dgram';
  /** Called with errors that were handled: a worker that exited, a slow path that threw. */
  readonly onError: (error: unknown) => void;
}

/** A running DNS server. */
export interface RunningDns {
  readonly addresses: readonly ListenAddress[];
  /** How datagrams are received: `dgram` if native calls are unavailable. */
  readonly transport: 'batch' | 'dgram';
  stats(): DnsStats;
  /**
   * Switches to another table, and RA flag if given; resolves when no worker reads the old table.
   */
  useTable(table: AnswerTable, reply?: Pick<ReplySettings, 'recursionAvailable'>): Promise<void>;
  /** Answers received queries and stops. `timeoutMs`: how long to wait for the slow path; 5 s by default. */
  close(timeoutMs?: number): Promise<void>;
}

const socketBufferBytes = 4 * 1024 * 1024;
/** Attempts to find a port that is free for both UDP and TCP. */
const portAttempts = 8;
const restartDelayMs = 1000;
const releaseDelayMs = 50;

/** Starts a server; rejects with an error that names the address if one cannot be listened on. */
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
  /** Whether several sockets share a port. */
  readonly #reusePort: boolean;
  readonly #queue: SlowPathQueue;
  readonly #workers = new Set<WorkerHandle>();
  readonly #sockets: BoundSocket[] = [];
  /** The counters of this thread, then those of each worker. */
  readonly #counterBuffers: SharedArrayBuffer[] = [];
  readonly #counters: Counters;
  readonly #restarts = new Set<NodeJS.Timeout>();
  /** Dropped queries that their workers still count as outstanding. */
  readonly #dropped: { readonly worker: WorkerHandle; readonly token: number }[] = [];
  #table: AnswerTable;
  #reply: ReplySettings;
  #isClosing = false;

  constructor({ table, reply = {}, ...options }: DnsServerOptions, native: Native | undefined) {
    const { slowPath, limits = {}, onError, workers = 1, share = false } = options;
    this.#options = options;
    this.#native = native;
    this.#table = table;
    this.#reply = reply;
    // Only Linux distributes datagrams over sockets that share a port.
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
    for (const each of this.#exclusive(listen)) await checkUnused(each);
    // The first worker finds the ports for all others.
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
      const previous = worker.table;
      const share = table.share();
      await worker.useTable(share, recursionAvailable);
      old.unshare(previous);
      // The worker exited in the meantime; its replacement has a share of its own.
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

  /** Closes everything that a failed start has opened. */
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

  /** Opens a socket for each worker; returns the address with the port. */
  #openSockets({ address, port }: ListenAddress): ListenAddress {
    const native = this.#native;
    if (native === undefined) throw new Error('bug: sockets without native calls');
    for (const each of this.#exclusive([{ address, port }])) {
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

  /** Addresses to bind once without SO_REUSEPORT, which fails if another process shares the port. */
  #exclusive(listen: readonly ListenAddress[]): readonly ListenAddress[] {
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

  /** The limits of one worker. */
  #shareOf(limits: DnsLimits): DnsLimits {
    const part = (whole: number): number => Math.ceil(whole / this.#workerCount);
    return { ...limits, maxConnections: part(limits.maxConnections ?? 1024) };
  }

  #run(setup: WorkerSetup): WorkerHandle {
    const worker = new WorkerHandle(setup, {
      onQueries: (packed, from) => this.#runSlowPath(packed, from),
      onExit: (error, exited) => this.#restart(error, exited),
    });
    this.#workers.add(worker);
    return worker;
  }

  /** Restarts a worker. Sockets for batched I/O belong to this thread: queries wait in them meanwhile. */
  #restart(error: unknown, exited: WorkerHandle): void {
    if (!this.#workers.delete(exited) || this.#isClosing) return;
    this.#table.unshare(exited.table);
    this.#options.onError(new Error('DNS worker exited, restarting it', { cause: error }));
    const timer = setTimeout(() => {
      this.#restarts.delete(timer);
      // With port 0 the assigned port is kept.
      const dgram = exited.setup.dgram.length > 0 ? this.addresses : [];
      const next = this.#run({
        ...exited.setup,
        table: this.#table.share(),
        reply: this.#reply,
        dgram,
        tcp: this.addresses,
      });
      next.ready.catch((failure: unknown) => this.#restart(failure, next));
    }, restartDelayMs);
    this.#restarts.add(timer);
  }

  #runSlowPath(packed: Uint8Array, worker: WorkerHandle): void {
    const started = performance.now();
    for (const { token, client, query } of unpackQueries(packed)) {
      this.#queue.add(query, client, (messages) => {
        const protocol = client.protocol === 'udp' ? 0 : 1;
        if (messages.length === 0) return this.#release(worker, token);
        this.#counters.duration(protocol, (performance.now() - started) / 1000, 1);
        for (const [index, message] of messages.entries()) {
          this.#counters.response(protocol, (message[3] ?? 0) & 0xf, message.length);
          worker.reply({ token, message, isLast: index === messages.length - 1 });
        }
      });
    }
  }

  /**
   * Reports to a worker that a query gets no reply. Delayed: dropping queries at once during a flood would only admit more of
   * them, while a delay turns the worker's limit into a rate limit.
   */
  #release(worker: WorkerHandle, token: number): void {
    if (this.#dropped.push({ worker, token }) > 1) return;
    setTimeout(() => {
      for (const each of this.#dropped.splice(0)) {
        each.worker.reply({ token: each.token, message: undefined, isLast: true });
      }
    }, releaseDelayMs);
  }

  #newCounters(): SharedArrayBuffer {
    const buffer = new SharedArrayBuffer(counterBytes);
    this.#counterBuffers.push(buffer);
    return buffer;
  }
}
