import type { Kept } from './plan/changes.ts';
import type { DesiredSets } from './plan/desired.ts';
import type { PlanOptions } from './options.ts';
import type { ZonePlan } from './plan/zone-planner.ts';
import { ZonePlanner } from './plan/zone-planner.ts';
import type { Name } from '../dnswire/data.ts';
import { inPortions } from '../machine/timers.ts';
import type { ZoneContent } from './plan/record-set.ts';
import type { Provider } from './providers/provider.ts';

/** What is to be in a zone. */
export interface DesiredState {
  readonly desired: DesiredSets;
  readonly kept: Kept;
}

export interface ComparisonOptions extends Pick<PlanOptions, 'registry' | 'policy'> {
  readonly provider: Provider;
  readonly zone: Name;
}

/** A zone and what is to be in it, compared again and again. */
export class Comparison {
  readonly #options: ComparisonOptions;
  readonly #planner = new ZonePlanner();

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  /** Reads the zone and compares it. `changed`: the names whose desired sets may differ from the last time. */
  async run(
    { desired, kept }: DesiredState,
    changed: Iterable<Name>,
    signal: AbortSignal,
  ): Promise<{ readonly content: ZoneContent; readonly plan: ZonePlan }> {
    const { provider, ...zone } = this.#options;
    const reading = await provider.read(zone.zone, signal);
    const { content } = reading;
    const input = { ...zone, kept, content };
    const adjusted = await provider.adjust?.(desired, signal);
    const work =
      adjusted === undefined
        ? this.#planner.update({ ...input, desired }, { desired: changed, content: reading.changed })
        : this.#planner.update({ ...input, desired: adjusted }, { desired: [], content: undefined });
    return { content, plan: await inPortions(work) };
  }
}
