// The address of a service in one cluster, or in all (MCS-40 to MCS-45).
import type { IpFamily } from '../../api/addresses.ts';

/** What became of the request for an address. */
export type VipState =
  /** One address a family, in the order of the families. */
  | { readonly state: 'reserved'; readonly ips: readonly string[]; readonly families: readonly IpFamily[] }
  /** There is no free one left of this family. */
  | { readonly state: 'exhausted'; readonly family: IpFamily; readonly message: string }
  /** None of the families of the service has a pool here. */
  | { readonly state: 'unsupported'; readonly message: string }
  /** The Service that has the address is still to be written. */
  | { readonly state: 'pending' }
  /** Headless, or not exported: no address is wanted. */
  | { readonly state: 'unneeded' };
