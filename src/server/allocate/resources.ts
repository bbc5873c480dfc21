import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { AddressPool } from './address-pool.ts';
import type { Random } from './banded-pool.ts';
import type { Claims } from './claims.ts';
import type { PortPool } from './port-pool.ts';

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
