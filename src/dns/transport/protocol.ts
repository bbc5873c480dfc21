// Messages between the main thread and a worker, besides packed queries and replies.
import type { RateLimit } from './limiter.ts';
import type { TableShare } from './lookup.ts';
import type { BoundSocket } from './native.ts';
import type { TcpLimits } from './tcp.ts';

/** An address to listen on. */
export interface ListenAddress {
  readonly address: string;
  /** 0: any free port, the same for UDP and TCP. */
  readonly port: number;
}

/** Limits of a server; each has a default. */
export interface DnsLimits extends TcpLimits {
  /** Queries of a worker that wait for the slow path; 4096 by default. */
  readonly maxSlowPathPerWorker?: number;
  /** Rate of slow-path queries of one client; 5000 per second by default. */
  readonly slowPathPerClient?: RateLimit;
  /** Rate of UDP replies to one client; unlimited by default. */
  readonly responsesPerClient?: RateLimit;
  /** Concurrent queries on the slow path; 1024 by default. */
  readonly maxRunning?: number;
  /** Queries in the queue of the slow path; 2048 by default. */
  readonly maxWaiting?: number;
  /** Queries of one client on the slow path or in its queue; 256 by default. */
  readonly maxPerClient?: number;
}

/** Properties of the server in every reply. */
export interface ReplySettings {
  readonly recursionAvailable?: boolean;
  /** 16-byte secrets for cookies; empty: cookies are ignored. */
  readonly cookieSecrets?: readonly Uint8Array[];
}

/** The configuration of a worker. */
export interface WorkerSetup {
  readonly table: TableShare;
  readonly counters: SharedArrayBuffer;
  /** Sockets for batched I/O; the main thread opens and closes them. */
  readonly sockets: readonly BoundSocket[];
  /** Addresses for datagram sockets of Node. */
  readonly dgram: readonly ListenAddress[];
  readonly tcp: readonly ListenAddress[];
  readonly reusePort: boolean;
  readonly limits: DnsLimits;
  readonly reply: ReplySettings;
}

export type ToWorker =
  /** The first message. */
  | { readonly kind: 'setup'; readonly setup: WorkerSetup }
  /** Switches to another table and RA flag. */
  | { readonly kind: 'table'; readonly table: TableShare; readonly recursionAvailable: boolean }
  | { readonly kind: 'drain'; readonly timeoutMs: number };

export type FromWorker =
  | { readonly kind: 'ready'; readonly ports: readonly number[] }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** The worker reads the new table. */
  | { readonly kind: 'switched' }
  | { readonly kind: 'drained' };
