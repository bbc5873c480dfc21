import type { Clock, Random } from '../../client/clock.ts';
import type { Name } from '../../dnswire/data.ts';
import { isDown } from './choose.ts';
import type { ForwardCounters } from './counters.ts';
import type { Prober } from './prober.ts';
import type { UpstreamQuery } from './query.ts';
import type { RaceResult } from './race.ts';
import { Race } from './race.ts';
import type { Upstream } from './upstream.ts';

export interface GroupOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly deadlineMs: number;
  readonly counters: ForwardCounters;
  readonly prober: Prober;
}

/** The upstreams of a zone. */
export class UpstreamGroup {
  readonly upstreams: readonly Upstream[];
  readonly #options: GroupOptions;
  /** Races in progress, including those that still wait for slower upstreams. */
  readonly #races = new Set<Race>();
  #turn = 0;

  constructor(upstreams: readonly Upstream[], options: GroupOptions) {
    this.upstreams = upstreams;
    this.#options = options;
  }

  /** Queries upstreams until one answers or the deadline passes. Never rejects. */
  async ask(query: UpstreamQuery): Promise<RaceResult> {
    const { clock, random, deadlineMs, counters, prober } = this.#options;
    prober.probeDue(this.upstreams);
    const usable = this.upstreams.filter((upstream) => !prober.isLooping(upstream));
    if (usable.length === 0) return { problem: this.#noUpstream(), isBusy: false };
    if (usable.every(({ health }) => isDown(health))) counters.allDown += 1;
    const onAttempt = (name: string, rcode: number | undefined, ms: number): void => {
      const counts = counters.upstream(name);
      if (rcode === undefined) counts.failures += 1;
      else counts.answered(rcode, ms);
    };
    this.#turn = (this.#turn + 1) % 0x1000_0000;
    const onOver = (): void => void this.#races.delete(race);
    const race = new Race(query, usable, { clock, random, deadlineMs, turn: this.#turn, onAttempt, onOver });
    this.#races.add(race);
    return await race.run();
  }

  /** Removes an upstream with a forwarding loop from races in progress. */
  drop(upstream: Upstream): void {
    for (const race of this.#races) race.drop(upstream, loopProblem(upstream.name));
  }

  /** Ends all races. */
  close(): void {
    for (const race of this.#races) race.stop('the server is stopping');
  }

  #noUpstream(): string {
    if (this.upstreams.length === 0) return 'there is no upstream: pass --upstream';
    return loopProblem(this.upstreams.map(({ name }) => name).join(', '));
  }
}

const loopProblem = (names: string): string =>
  `forwarding loop: ${names} sends queries back to this server: pass another --upstream`;

/** Zones whose upstreams changed. */
export function changedZones(
  previous: ReadonlyMap<Name, UpstreamGroup>,
  next: ReadonlyMap<Name, UpstreamGroup>,
): readonly Name[] {
  const namesIn = (group: UpstreamGroup | undefined): string =>
    (group?.upstreams ?? [])
      .map(({ name }) => name)
      .toSorted()
      .join(' ');
  const zones = new Set([...previous.keys(), ...next.keys()]);
  return [...zones].filter((zone) => namesIn(previous.get(zone)) !== namesIn(next.get(zone)));
}
