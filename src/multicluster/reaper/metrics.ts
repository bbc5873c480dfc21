import type { Registry } from 'prom-client';
import { Counter, Gauge } from 'prom-client';
import type { Judgement } from './judge.ts';

/** What the reaper counts. */
export interface ReaperMetrics {
  readonly removed: Counter<'source'>;
  /** Of each source, how long ago it was last heard of, by the clock here. */
  readonly age: Gauge<'source'>;
  readonly states: Gauge<'state'>;
  /** How far the clock of who renews is ahead of the one here; nothing is decided by it. */
  readonly skew: Gauge<'source'>;
}

/** The metrics of the reaper in one registry. */
export const reaperMetrics = (registry: Registry): ReaperMetrics => {
  const registers = [registry];
  return {
    removed: new Counter({
      name: 'fairlead_reaper_slices_removed_total',
      help: 'Slices that were removed because their source cluster was lost.',
      labelNames: ['source'],
      registers,
    }),
    age: new Gauge({
      name: 'fairlead_reaper_source_age_seconds',
      help: 'Time since a source cluster was last heard of.',
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
      help: 'How far the clock that renews the lease of a source is ahead of this one, delays included.',
      labelNames: ['source'],
      registers,
    }),
  };
};

/** Counts the sources in each state. */
export function countStates({ states }: ReaperMetrics, judgements: readonly Judgement[]): void {
  for (const state of ['healthy', 'suspect', 'expired'] as const) {
    states.set({ state }, judgements.filter((each) => each.state === state).length);
  }
}
