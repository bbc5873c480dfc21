import { systemClock } from '../client/clock.ts';
import type { Clock } from '../client/clock.ts';
import { EventRecorder } from '../client/events.ts';
import type { PartContext, RunningPart } from '../client/part.ts';
import type { PulseTimes } from './member/options.ts';
import { defaultSourceLeaseMs, pulseOf } from './member/options.ts';
import type { ReaperPolicy } from './reaper/judge.ts';
import { reaperMetrics } from './reaper/metrics.ts';
import { Reaper } from './reaper/reaper.ts';

export interface ReaperOptions extends ReaperPolicy {
  /** How long a source is waited for whose lease does not say; and how often the own server is asked. */
  readonly pulse?: PulseTimes | undefined;
  readonly resolutionMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** Removes the imported slices of source clusters whose leases are not renewed, in one cluster, until it is disposed of. */
export function startReaper({ client, log, metrics }: PartContext, options: ReaperOptions = {}): RunningPart {
  const { pulse = pulseOf(defaultSourceLeaseMs), resolutionMs, clock = systemClock, ...policy } = options;
  const recorder = new EventRecorder({
    client,
    component: 'fairlead-reaper',
    clock,
    onError: (error) => log.debug({ err: error }, 'could not write an Event'),
  });
  const reaper = new Reaper({
    client,
    log,
    metrics: reaperMetrics(metrics),
    recorder,
    clock,
    policy,
    pulse,
    resolutionMs,
  });
  const stop = new AbortController();
  const running = reaper.run(stop.signal);
  const ready = reaper.synced(stop.signal);
  ready.catch(() => undefined); // who does not wait is told by `problems`
  return {
    ready,
    problems: () => reaper.problems,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await recorder.flush();
    },
  };
}
