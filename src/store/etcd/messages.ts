// The messages of etcd's gRPC API that the store uses.

import { ValueBudget } from '../../api/schema/value-budget.ts';
import { WireReader, WireWriter } from '../../api/schema/wire.ts';

/** What every answer of etcd begins with. IDs exceed 2^53. */
export interface Header {
  readonly clusterId: bigint;
  readonly revision: number;
}

export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** The number of writes since its creation. */
  readonly version: number;
  /** 0: none. */
  readonly lease: bigint;
}

export interface EtcdEvent {
  readonly isDelete: boolean;
  readonly kv: KeyValue;
}

export interface RangeRequest {
  readonly key: string;
  readonly end?: string;
  readonly limit?: number;
  readonly revision?: number;
  readonly isCountOnly?: boolean;
  readonly isKeysOnly?: boolean;
}

export interface RangeResponse {
  readonly header: Header;
  readonly kvs: readonly KeyValue[];
  readonly more: boolean;
}

/** A condition of a transaction: the revision of the last write of a key (0: absent), or its number of writes. */
export type Compare = { readonly key: string } & ({ readonly modRevision: number } | { readonly version: number });

export type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: Uint8Array; readonly lease?: bigint }
  | { readonly type: 'delete'; readonly key: string }
  | { readonly type: 'range'; readonly key: string }
  | ({ readonly type: 'txn' } & TxnRequest);

export interface TxnRequest {
  readonly compare: readonly Compare[];
  readonly success: readonly Operation[];
  readonly failure?: readonly Operation[];
}

export interface TxnResponse {
  readonly header: Header;
  readonly succeeded: boolean;
  readonly responses: readonly OperationResponse[];
}

export type OperationResponse =
  | { readonly type: 'put' }
  | { readonly type: 'delete'; readonly deleted: number }
  | { readonly type: 'range'; readonly kvs: readonly KeyValue[] }
  | ({ readonly type: 'txn' } & TxnResponse);

export interface WatchResponse {
  readonly header: Header;
  /** -1 answers a progress request. */
  readonly watchId: bigint;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: number;
  readonly reason: string;
  /** Whether the next response continues this one, perhaps with events of the same revision. */
  readonly isFragment: boolean;
  readonly events: readonly EtcdEvent[];
}

export interface Status {
  readonly header: Header;
  readonly version: string;
  readonly dbSize: number;
  readonly errors: readonly string[];
}

export interface Lease {
  readonly id: bigint;
  readonly ttlSeconds: number;
}

/** A method of etcd: its path and how its messages are encoded. */
export interface Method<Request, Response> {
  readonly path: string;
  readonly encode: (request: Request) => Buffer;
  readonly decode: (bytes: Uint8Array) => Response;
}

const utf8 = new TextEncoder();
/** Which operations are in which field of `RequestOp` and `ResponseOp`. */
const operationNumbers = { range: 1, put: 2, delete: 3, txn: 4 } as const;

const encoded = (write: (writer: WireWriter) => void): Buffer => {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
};

function writeRange(writer: WireWriter, { key, end, limit, revision, ...only }: RangeRequest): void {
  writer.string(1, key);
  if (end !== undefined) writer.string(2, end);
  if (limit !== undefined) writer.int(3, limit);
  if (revision !== undefined) writer.int(4, revision);
  if (only.isKeysOnly === true) writer.int(8, 1);
  if (only.isCountOnly === true) writer.int(9, 1);
}

function writeTxn(writer: WireWriter, { compare, success, failure = [] }: TxnRequest): void {
  for (const each of compare) message(writer, 1, () => writeCompare(writer, each));
  for (const each of success) message(writer, 2, () => writeOperation(writer, each));
  for (const each of failure) message(writer, 3, () => writeOperation(writer, each));
}

function writeCompare(writer: WireWriter, compare: Compare): void {
  // EQUAL is 0, as is the target VERSION; MOD is 2.
  if ('modRevision' in compare) writer.int(2, 2);
  writer.string(3, compare.key);
  if ('modRevision' in compare) writer.int(6, compare.modRevision);
  else writer.int(4, compare.version);
}

function writeOperation(writer: WireWriter, operation: Operation): void {
  message(writer, operationNumbers[operation.type], () => {
    if (operation.type === 'txn') {
      writeTxn(writer, operation);
      return;
    }
    writer.string(1, operation.key);
    if (operation.type !== 'put') return;
    writer.bytes(2, operation.value);
    if (operation.lease !== undefined) writer.int(3, operation.lease);
  });
}

function message(writer: WireWriter, number: number, write: () => void): void {
  const start = writer.begin(number);
  write();
  writer.end(start);
}

/** Calls `read` for every field of a message; it returns false for a field that it did not read. */
function fields(reader: WireReader, read: (number: number) => boolean): void {
  while (!reader.done) {
    const tag = reader.tag();
    if (!read(tag >>> 3)) reader.skip(tag & 7);
  }
}

const readerOf = (bytes: Uint8Array): WireReader => new WireReader(bytes, 0, bytes.length, new ValueBudget(Infinity));

const noHeader: Header = { clusterId: 0n, revision: 0 };

function readHeader(reader: WireReader): Header {
  let [clusterId, revision] = [0n, 0];
  fields(reader, (number) => {
    if (number === 1) clusterId = reader.int64();
    else if (number === 3) revision = reader.int();
    else return false;
    return true;
  });
  return { clusterId, revision };
}

const noBytes = new Uint8Array();

function readKeyValue(reader: WireReader): KeyValue {
  let [key, value, createRevision, modRevision, version, lease] = ['', noBytes as Uint8Array, 0, 0, 0, 0n];
  fields(reader, (number) => {
    if (number === 1) key = reader.string();
    else if (number === 2) createRevision = reader.int();
    else if (number === 3) modRevision = reader.int();
    else if (number === 4) version = reader.int();
    else if (number === 5) value = reader.bytes();
    else if (number === 6) lease = reader.int64();
    else return false;
    return true;
  });
  return { key, value, createRevision, modRevision, version, lease };
}

function readRange(reader: WireReader): RangeResponse {
  let [header, more] = [noHeader, false];
  const kvs: KeyValue[] = [];
  fields(reader, (number) => {
    if (number === 1) header = readHeader(reader.message());
    else if (number === 2) kvs.push(readKeyValue(reader.message()));
    else if (number === 3) more = reader.int() !== 0;
    else return false;
    return true;
  });
  return { header, kvs, more };
}

function readTxn(reader: WireReader): TxnResponse {
  let [header, succeeded] = [noHeader, false];
  const responses: OperationResponse[] = [];
  fields(reader, (number) => {
    if (number === 1) header = readHeader(reader.message());
    else if (number === 2) succeeded = reader.int() !== 0;
    else if (number === 3) responses.push(readOperation(reader.message()));
    else return false;
    return true;
  });
  return { header, succeeded, responses };
}

function readOperation(reader: WireReader): OperationResponse {
  let response: OperationResponse = { type: 'put' };
  fields(reader, (number) => {
    if (number === operationNumbers.txn) response = { type: 'txn', ...readTxn(reader.message()) };
    else if (number === operationNumbers.range) response = { type: 'range', kvs: readRange(reader.message()).kvs };
    else if (number === operationNumbers.delete) {
      let deleted = 0;
      const nested = reader.message();
      fields(nested, (field) => {
        if (field !== 2) return false;
        deleted = nested.int();
        return true;
      });
      response = { type: 'delete', deleted };
    } else return false;
    return true;
  });
  return response;
}

function readEvent(reader: WireReader): EtcdEvent {
  let [isDelete, kv] = [false, undefined as KeyValue | undefined];
  fields(reader, (number) => {
    if (number === 1) isDelete = reader.int() === 1;
    else if (number === 2) kv = readKeyValue(reader.message());
    else return false;
    return true;
  });
  if (kv === undefined) throw new Error('etcd sent an event without a key');
  return { isDelete, kv };
}

function readWatch(reader: WireReader): WatchResponse {
  let [header, watchId, created, canceled, compactRevision, reason] = [noHeader, 0n, false, false, 0, ''];
  let isFragment = false;
  const events: EtcdEvent[] = [];
  fields(reader, (number) => {
    if (number === 1) header = readHeader(reader.message());
    else if (number === 2) watchId = reader.int64();
    else if (number === 3) created = reader.int() !== 0;
    else if (number === 4) canceled = reader.int() !== 0;
    else if (number === 5) compactRevision = reader.int();
    else if (number === 6) reason = reader.string();
    else if (number === 7) isFragment = reader.int() !== 0;
    else if (number === 11) events.push(readEvent(reader.message()));
    else return false;
    return true;
  });
  return { header, watchId, created, canceled, compactRevision, reason, isFragment, events };
}

function readStatus(reader: WireReader): Status {
  let [header, version, dbSize] = [noHeader, '', 0];
  const errors: string[] = [];
  fields(reader, (number) => {
    if (number === 1) header = readHeader(reader.message());
    else if (number === 2) version = reader.string();
    else if (number === 3) dbSize = reader.int();
    else if (number === 8) errors.push(reader.string());
    else return false;
    return true;
  });
  return { header, version, dbSize, errors };
}

function readLease(reader: WireReader): Lease {
  let [id, ttlSeconds] = [0n, 0];
  fields(reader, (number) => {
    if (number === 2) id = reader.int64();
    else if (number === 3) ttlSeconds = reader.int();
    else return false;
    return true;
  });
  return { id, ttlSeconds };
}

export const range: Method<RangeRequest, RangeResponse> = {
  path: '/etcdserverpb.KV/Range',
  encode: (request) => encoded((writer) => writeRange(writer, request)),
  decode: (bytes) => readRange(readerOf(bytes)),
};

export const txn: Method<TxnRequest, TxnResponse> = {
  path: '/etcdserverpb.KV/Txn',
  encode: (request) => encoded((writer) => writeTxn(writer, request)),
  decode: (bytes) => readTxn(readerOf(bytes)),
};

export const compact: Method<{ readonly revision: number }, void> = {
  path: '/etcdserverpb.KV/Compact',
  encode: ({ revision }) => encoded((writer) => writer.int(1, revision)),
  decode: () => undefined,
};

export const status: Method<void, Status> = {
  path: '/etcdserverpb.Maintenance/Status',
  encode: () => Buffer.alloc(0),
  decode: (bytes) => readStatus(readerOf(bytes)),
};

export const leaseGrant: Method<{ readonly ttlSeconds: number }, Lease> = {
  path: '/etcdserverpb.Lease/LeaseGrant',
  encode: ({ ttlSeconds }) => encoded((writer) => writer.int(1, ttlSeconds)),
  decode: (bytes) => readLease(readerOf(bytes)),
};

export const leaseRevoke: Method<{ readonly id: bigint }, void> = {
  path: '/etcdserverpb.Lease/LeaseRevoke',
  encode: ({ id }) => encoded((writer) => writer.int(1, id)),
  decode: () => undefined,
};

/** A stream: each request renews a lease. A TTL of 0 in the answer means that the lease does not exist. */
export const leaseKeepAlive: Method<{ readonly id: bigint }, Lease> = {
  path: '/etcdserverpb.Lease/LeaseKeepAlive',
  encode: ({ id }) => encoded((writer) => writer.int(1, id)),
  decode: (bytes) => readLease(readerOf(bytes)),
};

export type WatchRequest =
  | { readonly type: 'create'; readonly key: string; readonly end: string; readonly from: number }
  | { readonly type: 'progress' };

/** A stream. */
export const watch: Method<WatchRequest, WatchResponse> = {
  path: '/etcdserverpb.Watch/Watch',
  encode: (request) =>
    encoded((writer) => {
      if (request.type === 'progress') {
        writer.bytes(3, noBytes);
        return;
      }
      message(writer, 1, () => {
        writer.string(1, request.key);
        writer.string(2, request.end);
        writer.int(3, request.from);
        writer.int(8, 1); // otherwise one answer has all events of up to 1,000 revisions
      });
    }),
  decode: (bytes) => readWatch(readerOf(bytes)),
};

/** The bytes of a text. */
export const bytesOfText = (text: string): Uint8Array => utf8.encode(text);
