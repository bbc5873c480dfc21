// What the main thread and a worker say to each other besides packed questions and replies.
import type { EncodeSettings } from '../message/encode.ts';
import type { RateLimit } from './limiter.ts';
import type { TableShare } from './lookup.ts';
import type { BoundSocket } from './native.ts';
import type { TcpLimits } from './tcp.ts';

/** An address to listen on. */
export interface ListenAddress {
  readonly address: string;
  /** 0: any that is free, the same for UDP and TCP. */
  readonly port: number;
}

/** Bounds of what one server takes on; each has a default. */
export interface DnsLimits extends TcpLimits {
  /** Questions that a worker may have on their way to the slow path; 4096 by default. */
  readonly maxSlowPathPerWorker?: number;
  /** Questions for the slow path from one client; 5000 a second by default. */
  readonly slowPathPerClient?: RateLimit;
  /** Datagrams sent to one client; unlimited by default. */
  readonly responsesPerClient?: RateLimit;
  /** Questions that the slow path works on at once; 1024 by default. */
  readonly maxRunning?: number;
  /** Questions that wait for the slow path; 2048 by default. */
  readonly maxWaiting?: number;
  /** Questions of one client that the slow path works on or that wait for it; 256 by default. */
  readonly maxPerClient?: number;
}

/** What every reply says of the server. */
export interface ReplySettings extends EncodeSettings {
  readonly recursionAvailable?: boolean;
  /** Secrets of 16 bytes for cookies; none: cookies are ignored. */
  readonly cookieSecrets?: readonly Uint8Array[];
  readonly cookiesRequired?: boolean;
}

/** What a worker is started with. */
export interface WorkerSetup {
  readonly table: TableShare;
  readonly counters: SharedArrayBuffer;
  /** Sockets for batches, which the main thread has opened and will close. */
  readonly sockets: readonly BoundSocket[];
  /** Where to open datagram sockets of Node's. */
  readonly dgram: readonly ListenAddress[];
  readonly tcp: readonly ListenAddress[];
  readonly reusePort: boolean;
  readonly limits: DnsLimits;
  readonly reply: ReplySettings;
}

export type ToWorker =
  /** The first there is: what to open and how to answer. */
  | { readonly kind: 'setup'; readonly setup: WorkerSetup }
  /** Answer from another table from now on, and say so or so whether names of others can be asked for. */
  | { readonly kind: 'table'; readonly table: TableShare; readonly recursionAvailable: boolean }
  | { readonly kind: 'drain'; readonly timeoutMs: number };

export type FromWorker =
  | { readonly kind: 'ready'; readonly ports: readonly number[] }
  | { readonly kind: 'failed'; readonly code: string; readonly message: string }
  /** It reads another table now. */
  | { readonly kind: 'switched' }
  | { readonly kind: 'drained' };
