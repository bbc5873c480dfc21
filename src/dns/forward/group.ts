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

/** Upstreams that any question of some kind can go to. */
export class UpstreamGroup {
  readonly upstreams: readonly Upstream[];
  readonly #options: GroupOptions;
  /** Under way, or with a loser that is heard out. */
  readonly #races = new Set<Race>();
  #turn = 0;

  constructor(upstreams: readonly Upstream[], options: GroupOptions) {
    this.upstreams = upstreams;
    this.#options = options;
  }

  /** Asks until there is an answer or the time is over. Never rejects. */
  async ask(query: UpstreamQuery): Promise<RaceResult> {
    const { clock, random, deadlineMs, counters, prober } = this.#options;
    prober.tend(this.upstreams);
    const usable = this.upstreams.filter((upstream) => !prober.isLooping(upstream));
    if (usable.length === 0) return { problem: this.#whyNone(), isBusy: false };
    if (usable.every(({ health }) => isDown(health))) counters.allDown += 1;
    const onTry = (name: string, rcode: number | undefined, ms: number): void => {
      const counts = counters.upstream(name);
      if (rcode === undefined) counts.failures += 1;
      else counts.answered(rcode, ms);
    };
    this.#turn = (this.#turn + 1) % 0x1000_0000;
    const onOver = (): void => void this.#races.delete(race);
    const race = new Race(query, usable, { clock, random, deadlineMs, turn: this.#turn, onTry, onOver });
    this.#races.add(race);
    return await race.run();
  }

  /** Takes an upstream out of what is under way: it only sends questions back. */
  drop(upstream: Upstream): void {
    for (const race of this.#races) race.drop(upstream, loopProblem(upstream.name));
  }

  /** Ends what is under way. */
  close(): void {
    for (const race of this.#races) race.stop('forwarding ends');
  }

  #whyNone(): string {
    if (this.upstreams.length === 0) return 'there is no upstream to ask: name one with --upstream';
    return loopProblem(this.upstreams.map(({ name }) => name).join(', '));
  }
}

const loopProblem = (names: string): string =>
  `forwarding loop: ${names} sends our questions back to us: name another --upstream`;

/** Zones whose questions go elsewhere now. */
export function changedZones(
  before: ReadonlyMap<Name, UpstreamGroup>,
  after: ReadonlyMap<Name, UpstreamGroup>,
): readonly Name[] {
  const namesIn = (group: UpstreamGroup | undefined): string =>
    (group?.upstreams ?? [])
      .map(({ name }) => name)
      .toSorted()
      .join(' ');
  const zones = new Set([...before.keys(), ...after.keys()]);
  return [...zones].filter((zone) => namesIn(before.get(zone)) !== namesIn(after.get(zone)));
}
