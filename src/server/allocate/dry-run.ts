import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { Write } from '../../store/store.ts';
import type { AllocationOperation, ErrorBuilder, Resources } from './operation.ts';
import { addressOutOfRange, alreadyAllocated, portOutOfRange } from './operation.ts';

/** A dry run returns node ports above this one. They are outside the default range, so clients cannot rely on them. */
const lastRealPort = 32_768;

/** An operation that allocates nothing. It checks requested values and makes up the others, as Kubernetes does. */
export class DryRunOperation implements AllocationOperation {
  readonly writes: readonly Write[] = [];
  readonly #resources: Resources;
  readonly #ports = new Set<number>();
  #highestPort = lastRealPort;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  /** Checks only the range: whether the address is free may change before the real request. */
  allocateAddress(ip: string, wording: ErrorBuilder): void {
    const canonical = canonicalAddress(ip) ?? ip;
    const pool = this.#resources.ranges.get(familyOf(ip) ?? 'IPv4')?.pool;
    if (pool?.contains(canonical) !== true) throw wording(addressOutOfRange(canonical, pool?.cidr ?? ''));
  }

  allocateNextAddress(family: IpFamily): string | undefined {
    return this.#resources.ranges.get(family)?.pool.networkAddress;
  }

  allocatePort(port: number, wording: ErrorBuilder): void {
    const { ports } = this.#resources;
    if (!ports.contains(port)) throw wording(portOutOfRange(ports.range));
    if (ports.has(port) || this.#ports.has(port)) throw wording(alreadyAllocated.port);
    this.#take(port);
  }

  allocateNextPort(): number {
    const port = this.#highestPort + 1;
    this.#take(port);
    return port;
  }

  #take(port: number): void {
    this.#highestPort = this.#ports.size === 0 ? port : Math.max(this.#highestPort, port);
    this.#ports.add(port);
  }

  releaseAddress(): void {}
  releasePort(): void {}
  settle(): void {}
  conflictFor(): undefined {}
}
