import type { Name, SoaData } from '../dnswire/data.ts';

/**
 * A name with its encoded answers. What is the same for every client is encoded once, when objects change; a worker only
 * copies it.
 *
 * Encoded records may be put in any order: their compression pointers refer only to the question, which begins at offset
 * 12 and has this name.
 */
export interface PreparedName {
  readonly name: Name;
  /** The apex of its zone. */
  readonly zone: Name;
  /**
   * Queries that a worker must pass to the slow path: `types`: for this name and a type without a prepared answer (an
   * alias); `descendants`: for names below this one without an entry (built on demand, as those of Pods).
   */
  readonly slowPath?: 'types' | 'descendants';
  /** By type. A type that is absent is NODATA; without any answers the name is an empty non-terminal. */
  readonly answers: readonly PreparedAnswer[];
}

export interface PreparedAnswer {
  /** The query type, as on the wire. */
  readonly type: number;
  /** Encoded records with their owner, of at most `maxAnswerBytes`. More than one may be rotated. Undefined: left to the slow path. */
  readonly answers: readonly Uint8Array[] | undefined;
  /** Only those that fit into `maxAnswerBytes` together with the answers. */
  readonly additional: readonly Uint8Array[];
}

/** The maximum size of a prepared answer; the rest of the largest message is for question, OPT and additional. */
export const maxAnswerBytes = 60_000;

/** The SOA record of a zone, for NXDOMAIN and NODATA. */
export interface PreparedZone {
  readonly apex: Name;
  readonly soa: SoaData;
  readonly soaTtl: number;
}

/** Receives prepared answers; they are visible to every worker when the call returns. */
export interface AnswerSink {
  putZone(zone: PreparedZone): void;
  deleteZone(apex: Name): void;
  put(name: PreparedName): void;
  delete(name: Name): void;
}

/** The source of a query. */
export interface QueryClient {
  readonly address: string;
  readonly port: number;
  readonly protocol: 'udp' | 'tcp';
}

/**
 * Answers a query that has no prepared answer. Resolves to the messages to send, in order: more than one only for a
 * transfer over TCP, none to drop the query. Never rejects.
 */
export type SlowPath = (query: Uint8Array, client: QueryClient) => Promise<readonly Uint8Array[]>;
