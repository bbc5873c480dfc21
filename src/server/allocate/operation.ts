import type { StatusError } from '../../api/errors.ts';
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { Write } from '../../store/store.ts';
import type { AddressPool } from './address-pool.ts';
import type { Random } from './banded-pool.ts';
import type { Claims } from './claims.ts';
import type { PortPool } from './port-pool.ts';

/** Builds the error for an address or port that the client requested; `problem` is the message of Kubernetes. */
export type ErrorBuilder = (problem: string) => StatusError;

/** The address allocations of one request. They are reserved until the operation is settled. */
export interface AddressOperation {
  /** Allocates the address that the client requested, or throws. */
  allocateAddress(ip: string, wording: ErrorBuilder): void;
  /** Allocates any address; undefined if the range is full. */
  allocateNextAddress(family: IpFamily): string | undefined;
  /** Releases an address when the commit succeeds. */
  releaseAddress(ip: string): void;
}

/** The node port allocations of one request, with the same rules. */
export interface PortOperation {
  allocatePort(port: number, wording: ErrorBuilder): void;
  allocateNextPort(): number | undefined;
  releasePort(port: number): void;
}

/** The outcome of a claim that another server created first: an error for the client, or a retry with a new plan. */
export type Conflict = StatusError | 'retry';

/** All allocations and releases of one request. */
export interface AllocationOperation extends AddressOperation, PortOperation {
  /** The writes to commit with the Service. */
  readonly writes: readonly Write[];
  /** Ends the reservations; call it when the commit has succeeded, failed or been abandoned. */
  settle(): void;
  /** What to do after the commit failed at `key`; undefined if it is not a key of this operation. */
  conflictFor(key: string): Conflict | undefined;
}

// The messages of Kubernetes.

export const alreadyAllocated = {
  address: 'provided IP is already allocated',
  port: 'provided port is already allocated',
} as const;

/** For an address outside the ranges of the cluster. */
export const networkMismatch = 'the provided network does not match the current range';

/** For an address outside the ranges in a dry run. */
export const addressOutOfRange = (ip: string, cidr: string): string =>
  `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${cidr}`;

export const portOutOfRange = ({ from, to }: { readonly from: number; readonly to: number }): string =>
  `provided port is not in the valid range. The range of valid ports is ${from}-${to}`;

/** The pools and claims that all operations of one server share. */
export interface Resources {
  /** One range for each IP family of the cluster, the primary family first. */
  readonly ranges: ReadonlyMap<IpFamily, AddressRange>;
  readonly addressClaims: Claims;
  readonly ports: PortPool;
  readonly portClaims: Claims;
  readonly portCounters: Counters;
  readonly random: Random;
}

/** A service CIDR with its metrics. */
export interface AddressRange {
  readonly pool: AddressPool;
  readonly counters: Counters;
}

/** Successful and failed allocations. */
export interface Counters {
  readonly allocations: Record<Scope, number>;
  readonly errors: Record<Scope, number>;
}
/** `static`: the client requested a specific address or port; `dynamic`: any. */
export type Scope = 'static' | 'dynamic';

export const newCounters = (): Counters => ({
  allocations: { static: 0, dynamic: 0 },
  errors: { static: 0, dynamic: 0 },
});

/** Counts an attempt and returns `done`. */
export function count(counters: Counters, scope: Scope, done: boolean): boolean {
  (done ? counters.allocations : counters.errors)[scope]++;
  return done;
}
