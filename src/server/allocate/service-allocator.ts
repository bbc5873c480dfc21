import { invalid } from '../../api/errors.ts';
import type { WriteContext } from '../../api/kind.ts';
import { initFamilies } from '../../api/kinds/core/service/families.ts';
import { normalizeClusterIPs, patchAllocatedValues } from '../../api/kinds/core/service/normalize.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import type { Store, Write } from '../../store/store.ts';
import { AddressPool } from './address-pool.ts';
import type { Random } from './banded-pool.ts';
import { addressPrefix, Claims, portPrefix } from './claims.ts';
import { allocateClusterIps, releaseClusterIps, updateClusterIps } from './cluster-ips.ts';
import type { AddressRange, AllocationOperation, Conflict, Counters, Resources } from './operation.ts';
import { newCounters } from './operation.ts';
import { DryRunOperation } from './dry-run.ts';
import { listAndWatch } from './list-watch.ts';
import { allocateNodePorts, releaseNodePorts, updateNodePorts } from './node-ports.ts';
import { PortPool } from './port-pool.ts';
import type { PortRange } from './port-pool.ts';
import { StoreOperation } from './store-operation.ts';

export interface AllocatorOptions {
  readonly store: Store;
  /** One CIDR, or two of different families; the family of the first is the cluster's primary one. */
  readonly serviceCidrs: readonly string[];
  readonly nodePorts: PortRange;
  readonly random: Random;
}

/** The parts of a request that planning needs. */
export interface PlanOptions {
  readonly context: WriteContext;
  readonly dryRun: boolean;
  /** RFC 3339, whole seconds. */
  readonly now: string;
  /** A new UID at each call. */
  readonly uid: () => string;
}

/** A Service with its addresses and ports, and the claims to commit in the same transaction. */
export interface Plan {
  readonly service: Service;
  readonly writes: readonly Write[];
  /**
   * Ends the reservations. Call it when the commit has resolved or rejected, when the request fails earlier, and after
   * a dry run. A second call does nothing.
   */
  settle(): void;
  /**
   * What to do after the commit failed at `key`, before `settle`: return the error, since the client requested this
   * address or port, or retry with a new plan. Undefined: the key is not a claim of this plan.
   */
  conflictFor(key: string): Conflict | undefined;
}

/** The values of kube-apiserver's allocator metrics. */
export interface AllocatorMetrics {
  readonly clusterIps: readonly (Counters & { readonly cidr: string } & Occupancy)[];
  readonly nodePorts: Counters & Occupancy;
}

/** The usage of a range, reservations included. */
export interface Occupancy {
  readonly allocated: number;
  readonly available: number;
}

/**
 * Allocates cluster IPs and node ports. Each is a key of its own, so that the store resolves races between servers. A
 * reservation resolves races between the requests of one server until the commit succeeds or fails.
 */
export class ServiceAllocator implements AsyncDisposable {
  readonly #resources: Resources;
  readonly #families: readonly IpFamily[];
  readonly #closing = new AbortController();

  private constructor(resources: Resources) {
    this.#resources = resources;
    this.#families = [...resources.ranges.keys()];
  }

  /** Resolves when all claims in the store are loaded. Throws a `RangeError` for ranges that cannot be used. */
  static async open({ store, serviceCidrs, nodePorts, random }: AllocatorOptions): Promise<ServiceAllocator> {
    const allocator = new ServiceAllocator(resourcesFor(serviceCidrs, nodePorts, random));
    const { addressClaims, portClaims } = allocator.#resources;
    const { signal } = allocator.#closing;
    await Promise.all([listAndWatch(store, addressClaims, signal), listAndWatch(store, portClaims, signal)]);
    return allocator;
  }

  /** The IP families of the cluster, the primary one first. */
  get families(): readonly IpFamily[] {
    return this.#families;
  }

  /** Plans the allocations of a new Service. Throws a `StatusError` if it requests a value that it cannot get. */
  planCreate(service: Service, options: PlanOptions): Plan {
    const settled = this.#withFamilies(normalizeClusterIPs(service), undefined, options.context);
    return this.#plan(settled, options, (operation) =>
      allocateNodePorts(allocateClusterIps(settled, operation), operation),
    );
  }

  /** Plans the allocations of an updated Service. The plan also releases what only `old` needs. */
  planUpdate(service: Service, old: Service, options: PlanOptions): Plan {
    const linked = normalizeClusterIPs(patchAllocatedValues(service, old), old);
    const settled = this.#withFamilies(linked, old, options.context);
    return this.#plan(settled, options, (operation) =>
      updateNodePorts(updateClusterIps(settled, old, operation), old, operation),
    );
  }

  /** Returns the writes to commit with the deletion of a Service. If the commit fails at one of their keys, plan again. */
  planDelete(old: Service): readonly Write[] {
    const operation = new StoreOperation(this.#resources, { service: old, now: '', uid: () => '' });
    releaseClusterIps(old, operation);
    releaseNodePorts(old, operation);
    return operation.writes;
  }

  /** Returns the writes that release all claims of a deleted Service whose object cannot be read. */
  planRelease({ metadata }: Pick<Service, 'metadata'>): readonly Write[] {
    const { addressClaims, portClaims } = this.#resources;
    return [...addressClaims.of({ metadata }), ...portClaims.of({ metadata })].map(({ key, revision }) => ({
      key,
      value: undefined,
      expect: revision,
    }));
  }

  /** Current values; the counters never decrease. */
  metrics(): AllocatorMetrics {
    const { ranges, ports, portCounters } = this.#resources;
    return {
      clusterIps: [...ranges.values()].map(({ pool, counters }) => ({
        cidr: pool.cidr,
        allocated: pool.used,
        available: pool.free,
        ...counters,
      })),
      nodePorts: { allocated: ports.used, available: ports.free, ...portCounters },
    };
  }

  /** Stops the watches. Existing plans can still be settled. */
  async close(): Promise<void> {
    this.#closing.abort();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #withFamilies(service: Service, old: Service | undefined, context: WriteContext): Service {
    const result = initFamilies({ service, old, cluster: { families: this.#families }, context });
    if (result.ok) return result.service;
    throw invalid({ group: '', resource: 'Service', name: service.metadata.name ?? '' }, result.errors);
  }

  #plan(
    service: Service,
    { dryRun, now, uid }: PlanOptions,
    allocate: (operation: AllocationOperation) => Service,
  ): Plan {
    const operation = dryRun
      ? new DryRunOperation(this.#resources)
      : new StoreOperation(this.#resources, { service, now, uid });
    try {
      return {
        service: allocate(operation),
        writes: operation.writes,
        settle: () => operation.settle(),
        conflictFor: (key) => operation.conflictFor(key),
      };
    } catch (error) {
      operation.settle();
      throw error;
    }
  }
}

function resourcesFor(serviceCidrs: readonly string[], nodePorts: PortRange, random: Random): Resources {
  const ranges = new Map<IpFamily, AddressRange>();
  for (const cidr of serviceCidrs) {
    const pool = new AddressPool(cidr);
    if (ranges.has(pool.family)) throw new RangeError(`"${cidr}" is a second ${pool.family} range of cluster IPs`);
    ranges.set(pool.family, { pool, counters: newCounters() });
  }
  if (ranges.size === 0) throw new RangeError('a cluster needs a range of cluster IPs');
  const ports = new PortPool(nodePorts);
  const poolOf = (ip: string): AddressPool | undefined => ranges.get(ip.includes(':') ? 'IPv6' : 'IPv4')?.pool;
  return {
    ranges,
    addressClaims: new Claims(addressPrefix, {
      claim: (ip) => void poolOf(ip)?.allocate(ip),
      release: (ip) => void poolOf(ip)?.release(ip),
    }),
    ports,
    portClaims: new Claims(portPrefix, {
      claim: (port) => void ports.allocate(Number(port)),
      release: (port) => void ports.release(Number(port)),
    }),
    portCounters: newCounters(),
    random,
  };
}
