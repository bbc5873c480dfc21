import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { AddressPool } from './address-pool.ts';
import type { Random } from './banded-pool.ts';
import type { Claims } from './claims.ts';
import type { Counters } from './counters.ts';
import type { PortPool } from './port-pool.ts';

/** What all operations of one server share. */
export interface Resources {
  /** One range for each IP family of the cluster, the primary family first. */
  readonly ranges: ReadonlyMap<IpFamily, AddressRange>;
  readonly addressClaims: Claims;
  readonly ports: PortPool;
  readonly portClaims: Claims;
  readonly portCounters: Counters;
  readonly random: Random;
}

/** A service CIDR at work. */
export interface AddressRange {
  readonly pool: AddressPool;
  readonly counters: Counters;
}
