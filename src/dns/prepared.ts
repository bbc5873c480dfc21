import type { Name, SoaData } from '../dnswire/data.ts';

/**
 * A name with its answers ready to be sent. What is the same for every client is encoded once, when objects change; a
 * worker then only copies.
 *
 * Encoded records may be put in any order: a compression pointer in them points into the question and nowhere else. The
 * question begins at offset 12, and its name is this name.
 */
export interface PreparedName {
  readonly name: Name;
  /** The apex of the zone it is in. */
  readonly zone: Name;
  /**
   * What a worker must not decide itself: `types`: questions here for a type without a prepared answer (an alias);
   * `descendants`: names below that have no entry (made on demand, as Pods' are).
   */
  readonly slowPath?: 'types' | 'descendants';
  /** By type. A type that is absent is NODATA; no answers at all: an empty non-terminal. */
  readonly answers: readonly PreparedAnswer[];
}

export interface PreparedAnswer {
  /** The type asked for, as on the wire. */
  readonly type: number;
  /** Encoded records, owner included. More than one may be rotated. */
  readonly answers: readonly Uint8Array[];
  readonly additional: readonly Uint8Array[];
}

/** What negative answers of a zone need: NXDOMAIN and NODATA carry its SOA. */
export interface PreparedZone {
  readonly apex: Name;
  readonly soa: SoaData;
  readonly soaTtl: number;
}

/** Where prepared answers are put; they are visible to every worker when the call returns. */
export interface AnswerSink {
  putZone(zone: PreparedZone): void;
  deleteZone(apex: Name): void;
  put(name: PreparedName): void;
  delete(name: Name): void;
}

/** Who asks. */
export interface QueryClient {
  readonly address: string;
  readonly port: number;
  readonly protocol: 'udp' | 'tcp';
}

/**
 * Answers what the prepared answers do not: the messages to send, in order (more than one only for a transfer over TCP),
 * or none where silence is right. Never rejects.
 */
export type SlowPath = (query: Uint8Array, client: QueryClient) => Promise<readonly Uint8Array[]>;
