import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { Write } from '../../store/store.ts';
import type { Operation, Wording } from './operation.ts';
import { addressOutOfRange, alreadyAllocated, portOutOfRange } from './operation.ts';
import type { Resources } from './resources.ts';

/** The node port before the first that a dry run makes up: those are outside the usual range, so nobody relies on them. */
const lastRealPort = 32_768;

/** An operation that takes nothing: it checks what a client asked for, and makes up the rest as Kubernetes does. */
export class DryRunOperation implements Operation {
  readonly writes: readonly Write[] = [];
  readonly #resources: Resources;
  readonly #ports = new Set<number>();
  #highestPort = lastRealPort;

  constructor(resources: Resources) {
    this.#resources = resources;
  }

  /** Only the range counts: whether the address is free may change until the real request. */
  claimAddress(ip: string, wording: Wording): void {
    const canonical = canonicalAddress(ip) ?? ip;
    const pool = this.#resources.ranges.get(familyOf(ip) ?? 'IPv4')?.pool;
    if (pool?.contains(canonical) !== true) throw wording(addressOutOfRange(canonical, pool?.cidr ?? ''));
  }

  takeAddress(family: IpFamily): string | undefined {
    return this.#resources.ranges.get(family)?.pool.networkAddress;
  }

  claimPort(port: number, wording: Wording): void {
    const { ports } = this.#resources;
    if (!ports.contains(port)) throw wording(portOutOfRange(ports.range));
    if (ports.has(port) || this.#ports.has(port)) throw wording(alreadyAllocated.port);
    this.#take(port);
  }

  takePort(): number {
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
