import { canonicalAddress } from '../../api/addresses.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { Entry } from '../../store/store.ts';
import type { ServiceName } from './claims.ts';
import { addressPrefix, ownerOfClaim, portPrefix } from './claims.ts';

/** The keys that must name one Service as their owner, and do not. */
export interface MissingClaim {
  readonly key: string;
  readonly service: Service;
  /** The claim of another owner, which does not need it. */
  readonly current: Entry | undefined;
}

/** How the claims in a store differ from the addresses and node ports of its Services. */
export interface ClaimPlan {
  readonly missing: readonly MissingClaim[];
  /** Claims of Services that do not exist or do not need them. */
  readonly orphaned: readonly Entry[];
  /** Keys that several Services need: only the first one has the claim. */
  readonly contested: readonly { readonly key: string; readonly services: readonly Service[] }[];
}

/** Compares all claims with all Services, both at one revision. */
export function planClaims(services: Iterable<Service>, claims: readonly Entry[]): ClaimPlan {
  const needed = new Map<string, Service[]>();
  for (const service of services) {
    for (const key of claimKeys(service)) {
      const others = needed.get(key);
      if (others === undefined) needed.set(key, [service]);
      else others.push(service);
    }
  }
  const missing = new Map(Array.from(needed, ([key, [service]]) => [key, service] as const));
  const orphaned: Entry[] = [];
  const outdated = new Map<string, Entry>();
  for (const claim of claims) {
    const owner = ownerOfClaim(claim);
    if (owner === 'other') {
      missing.delete(claim.key); // another owner has the address
    } else if (needed.get(claim.key)?.some((service) => isSame(service, owner)) === true) {
      missing.delete(claim.key);
    } else if (missing.has(claim.key)) {
      outdated.set(claim.key, claim);
    } else if (owner !== undefined) {
      orphaned.push(claim); // one that is not readable stays
    }
  }
  return {
    missing: Array.from(missing).flatMap(([key, service]) =>
      service === undefined ? [] : [{ key, service, current: outdated.get(key) }],
    ),
    orphaned,
    contested: Array.from(needed).flatMap(([key, owners]) => (owners.length > 1 ? [{ key, services: owners }] : [])),
  };
}

/** The keys of the claims that a Service needs. */
function* claimKeys({ spec }: Service): Generator<string, void> {
  const { clusterIPs = [], ports = [], healthCheckNodePort } = spec;
  for (const address of clusterIPs) {
    const ip = canonicalAddress(address);
    if (ip !== undefined) yield addressPrefix + ip; // otherwise `None`
  }
  const numbers = new Set([healthCheckNodePort, ...ports.map(({ nodePort }) => nodePort)]);
  for (const port of numbers) if (port !== undefined && port !== 0) yield `${portPrefix}${port}`;
}

const isSame = ({ metadata }: Service, owner: ServiceName | undefined): boolean =>
  metadata.namespace === owner?.namespace && metadata.name === owner?.name;
