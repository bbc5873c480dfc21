import { getOrCompute } from '../../api/maps.ts';
import type { ZoneHealth } from './disruption.ts';

interface Member {
  readonly zone: string;
  readonly isReady: boolean;
}

/** Counts the nodes of each zone, with constant cost for each change. */
export class Zones {
  readonly #members = new Map<string, Member>();
  readonly #zones = new Map<string, { nodes: number; notReady: number }>();

  set(node: string, member: Member): void {
    this.delete(node);
    this.#members.set(node, member);
    this.#count(member, 1);
  }

  delete(node: string): void {
    const member = this.#members.get(node);
    if (member === undefined) return;
    this.#members.delete(node);
    this.#count(member, -1);
  }

  get(zone: string): ZoneHealth | undefined {
    return this.#zones.get(zone);
  }

  all(): Iterable<ZoneHealth> {
    return this.#zones.values();
  }

  #count({ zone, isReady }: Member, change: 1 | -1): void {
    const health = getOrCompute(this.#zones, zone, () => ({ nodes: 0, notReady: 0 }));
    health.nodes += change;
    if (!isReady) health.notReady += change;
    if (health.nodes === 0) this.#zones.delete(zone);
  }
}
