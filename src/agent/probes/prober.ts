// Runs the probes of one Pod.
import type { Container } from '../../api/kinds/core/pod/schema.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { CheckResult, Probe } from './check.ts';
import { count, noResults, waitAfter } from './thresholds.ts';

export type ProbeType = 'startup' | 'readiness' | 'liveness';

/** An instance of a container with probes. */
export interface ProbedInstance {
  readonly container: Container;
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  readonly isStarted: boolean;
  readonly isReady: boolean;
  /** Whether it is being stopped: then only readiness is probed. */
  readonly isEnding: boolean;
}

export interface ProberOptions {
  readonly clock: Clock;
  readonly check: (instance: ProbedInstance, probe: Probe) => Promise<CheckResult>;
  /** A threshold was reached. */
  readonly onVerdict: (instance: ProbedInstance, type: ProbeType, verdict: 'success' | 'failure') => void;
  /** A check failed, or deserves an Event. */
  readonly onResult: (instance: ProbedInstance, type: ProbeType, result: CheckResult) => void;
}

const defaultPeriodSeconds = 10;

/** Keeps one loop for each probe of each instance that runs. */
export class Prober {
  readonly #options: ProberOptions;
  /** instance/type → ends its loop */
  readonly #loops = new Map<string, AbortController>();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Starts and ends loops, so that they are those of these instances. */
  sync(instances: readonly ProbedInstance[]): void {
    const wanted = new Map(
      instances.flatMap((instance) => probesOf(instance).map((each) => [each.key, each] as const)),
    );
    for (const [key, loop] of this.#loops) {
      if (wanted.has(key)) continue;
      loop.abort();
      this.#loops.delete(key);
    }
    for (const [key, { instance, type, probe }] of wanted) {
      if (this.#loops.has(key)) continue;
      const loop = new AbortController();
      this.#loops.set(key, loop);
      void this.#run(instance, type, probe, loop.signal); // checks do not reject
    }
  }

  async #run(instance: ProbedInstance, type: ProbeType, probe: Probe, signal: AbortSignal): Promise<void> {
    const { clock, check, onVerdict, onResult } = this.#options;
    const periodMs = (probe.periodSeconds ?? defaultPeriodSeconds) * 1000;
    const beginAt = instance.startedAt + (probe.initialDelaySeconds ?? 0) * 1000;
    await sleep(clock, Math.max(0, beginAt - clock.now()), signal);
    let counted = noResults;
    // An adopted instance was checked before.
    let isFresh = type !== 'liveness' && !(type === 'readiness' ? instance.isReady : instance.isStarted);
    for (let checks = 0; !signal.aborted; checks++) {
      const result = await check(instance, probe);
      if (signal.aborted) return;
      const { waitMs, isEarly } = isFresh ? waitAfter(checks, periodMs) : { waitMs: periodMs, isEarly: false };
      if (result.outcome === 'success') isFresh = false;
      const isCounted = result.outcome === 'success' || (result.outcome === 'failure' && !isEarly);
      if (isCounted) {
        if (result.outcome === 'failure' || result.warning !== undefined) onResult(instance, type, result);
        const { next, verdict } = count(counted, result.outcome === 'success' ? 'success' : 'failure', probe);
        counted = next;
        if (verdict !== undefined) onVerdict(instance, type, verdict);
        // The instance is killed, or was started: the next one is probed again.
        if (verdict === 'failure' && type !== 'readiness') return;
        if (verdict === 'success' && type === 'startup') return;
      }
      await sleep(clock, result.outcome === 'success' ? periodMs : waitMs, signal);
    }
  }

  /** Ends all loops. */
  close(): void {
    this.sync([]);
  }
}

interface Wanted {
  readonly key: string;
  readonly instance: ProbedInstance;
  readonly type: ProbeType;
  readonly probe: Probe;
}

/** The probes that are due: startup first, then the others; an ending container is only probed for readiness. */
function probesOf(instance: ProbedInstance): readonly Wanted[] {
  const { container, id, isStarted, isEnding } = instance;
  const { startupProbe, readinessProbe, livenessProbe } = container;
  const wanted = (type: ProbeType, probe: Probe | undefined): readonly Wanted[] =>
    probe === undefined ? [] : [{ key: `${id}/${type}`, instance, type, probe }];
  if (!isStarted) return isEnding ? [] : wanted('startup', startupProbe);
  return [...wanted('readiness', readinessProbe), ...(isEnding ? [] : wanted('liveness', livenessProbe))];
}
