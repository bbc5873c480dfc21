import type { Registry } from 'prom-client';
import { Counter, Gauge } from 'prom-client';
import type { SourceStatus } from './evaluate.ts';

export interface ReaperMetrics {
  readonly removed: Counter<'source'>;
  /** Seconds since the last observed renewal of each source. */
  readonly age: Gauge<'source'>;
  readonly states: Gauge<'state'>;
  /** How far the controller's clock is ahead of the local clock; not used for decisions. */
  readonly skew: Gauge<'source'>;
}

/** The metrics of the reaper in one registry. */
export const reaperMetrics = (registry: Registry): ReaperMetrics => {
  const registers = [registry];
  return {
    removed: new Counter({
      name: 'fairlead_reaper_slices_removed_total',
      help: 'Slices deleted because their source cluster was lost.',
      labelNames: ['source'],
      registers,
    }),
    age: new Gauge({
      name: 'fairlead_reaper_source_age_seconds',
      help: 'Seconds since the last observed renewal of the lease of a source cluster.',
      labelNames: ['source'],
      registers,
    }),
    states: new Gauge({
      name: 'fairlead_reaper_sources',
      help: 'Source clusters by state: healthy, suspect or expired.',
      labelNames: ['state'],
      registers,
    }),
    skew: new Gauge({
      name: 'fairlead_reaper_clock_skew_seconds',
      help: 'How far the clock of the controller that renews the lease of a source is ahead of the local clock, including delays.',
      labelNames: ['source'],
      registers,
    }),
  };
};

/** Counts the sources in each state. */
export function countStates({ states }: ReaperMetrics, sources: readonly SourceStatus[]): void {
  for (const state of ['healthy', 'suspect', 'expired'] as const) {
    states.set({ state }, sources.filter((each) => each.state === state).length);
  }
}
