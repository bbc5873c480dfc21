import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { afterPendingReads, silenceMs, sleep } from '../../client/clock.ts';
import type { ResponseHeaders } from '../../client/transport.ts';
import { withDeadline } from './deadline.ts';
import type { ProbeTimes } from './options.ts';

export interface HealthProbeOptions extends ProbeTimes {
  readonly client: Client;
  readonly clock: Clock;
  /** Called when the state, `isSlow` or `isSkewed` has changed. `isBack`: the server answers again after an interruption. */
  readonly onChange: (isBack: boolean) => void;
}

/**
 * `unknown`: no probe has ended yet. `alive`: the last probe was answered. `silent`: it was not. `lost`: none was answered
 * for as long as a lease lasts, or ever.
 */
export type ProbeState = 'unknown' | 'alive' | 'silent' | 'lost';

/** Interval of probes while the server does not answer. */
const silentIntervalMs = 1000;

/**
 * Concurrent probes: a server that hangs must not accumulate them. The last one has a short timeout, so that the return of
 * the server is noticed soon even if the others hang.
 */
const mostConcurrent = 4;

/** A probe may take this many times as long as the last one before the server counts as silent. */
const slowdownFactor = 2;

/** A server is slow if a probe takes longer than this, or than the interval of probes. */
const slowLimitMs = 2000;

/** Clock skew that is reported. */
const skewLimitMs = 5000;

/** Longer probes are too imprecise to measure the clock of the server. */
const skewProbeMs = 2000;

/**
 * Probes whether a cluster answers, by a read of its namespace kube-system, whose UID identifies the cluster. An open watch
 * does not prove that the server is there.
 */
export class HealthProbe {
  readonly #options: HealthProbeOptions;
  #state: ProbeState = 'unknown';
  #confirmedAt: number | undefined;
  #answeredAt = -Infinity;
  #latencyMs = 0;
  #clockSkewMs: number | undefined;
  #uid: string | undefined;
  #error: unknown;
  /** Probes in progress. */
  readonly #running = new Set<Promise<void>>();

  constructor(options: HealthProbeOptions) {
    this.#options = options;
  }

  get state(): ProbeState {
    return this.#state;
  }

  /** Start of the last probe that was answered, on the monotonic clock. */
  get confirmedAt(): number | undefined {
    return this.#confirmedAt;
  }

  get latencyMs(): number {
    return this.#latencyMs;
  }

  /** Whether it answers, but so slowly that users notice. */
  get isSlow(): boolean {
    return this.#state === 'alive' && this.#latencyMs > Math.min(slowLimitMs, this.#options.renewMs);
  }

  /** How far the clock of the server is ahead of the local clock, to within a second; undefined: unknown. */
  get clockSkewMs(): number | undefined {
    return this.#clockSkewMs;
  }

  /** Whether its clock differs so much that timestamps of its objects cannot be compared with those of other clusters. */
  get isSkewed(): boolean {
    return Math.abs(this.#clockSkewMs ?? 0) >= skewLimitMs;
  }

  get uid(): string | undefined {
    return this.#uid;
  }

  /** The error of the last probe; undefined if it was answered. */
  get error(): unknown {
    return this.#error;
  }

  /** Probes until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#options;
    while (!signal.aborted) {
      const nextAt = clock.elapsed() + renewMs;
      await this.#startProbe(signal);
      const waitMs = this.#state === 'alive' ? nextAt - clock.elapsed() : Math.min(silentIntervalMs, renewMs);
      await sleep(clock, Math.max(0, waitMs), signal);
    }
    await Promise.all(this.#running);
  }

  /** Starts a probe, and waits until it ends or the next is due. An answer that arrives later counts too. */
  async #startProbe(signal: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#options;
    if (this.#running.size >= mostConcurrent) await Promise.race(this.#running);
    if (signal.aborted) return;
    const startedAt = clock.elapsed();
    const timeoutMs = this.#timeoutMs();
    const cancel = afterPendingReads(clock, timeoutMs, () => {
      // A probe that is cut short when the server is lost has no reason of its own.
      const known = timeoutMs < renewMs ? this.#error : undefined;
      this.#noAnswer(startedAt, known ?? new Error(`no answer in ${Math.round(timeoutMs)} ms`));
    });
    const probe = this.#probe(startedAt, signal).finally(() => {
      cancel();
      this.#running.delete(probe);
    });
    this.#running.add(probe);
    const over = new AbortController();
    await Promise.race([probe, sleep(clock, Math.min(renewMs, timeoutMs), over.signal)]);
    over.abort();
  }

  async #probe(startedAt: number, signal: AbortSignal): Promise<void> {
    const { client, clock, renewMs, durationMs } = this.#options;
    // An answer to an older probe does not prove that the server is there now.
    const longestMs = this.#state === 'unknown' ? durationMs : durationMs - renewMs / 2;
    const ms = this.#running.size < mostConcurrent - 1 ? longestMs : Math.min(renewMs, longestMs);
    let serverTimeMs = NaN;
    const onHeaders = ({ date }: ResponseHeaders): void => void (serverTimeMs = Date.parse(String(date)));
    try {
      const { metadata } = await withDeadline({ signal, ms, clock }, (deadline) =>
        client.get(namespaceKind, { name: 'kube-system' }, { signal: deadline, onHeaders }),
      );
      const isBack = this.#confirmedAt !== undefined;
      this.#confirmedAt = Math.max(this.#confirmedAt ?? startedAt, startedAt);
      this.#answeredAt = clock.elapsed();
      const [wasSlow, wasSkewed] = [this.isSlow, this.isSkewed];
      this.#latencyMs = silenceMs(clock, startedAt);
      this.#measureSkew(serverTimeMs);
      this.#uid = metadata.uid;
      this.#error = undefined;
      if (this.isSlow !== wasSlow || this.isSkewed !== wasSkewed) this.#options.onChange(false);
      this.#become('alive', isBack);
    } catch (error) {
      if (!signal.aborted) this.#noAnswer(startedAt, error);
    }
  }

  /** The Date header has whole seconds, and was written between the start and the end of the probe. */
  #measureSkew(serverTimeMs: number): void {
    if (Number.isNaN(serverTimeMs) || this.#latencyMs > skewProbeMs) return;
    this.#clockSkewMs = serverTimeMs + 500 - (this.#options.clock.now() - this.#latencyMs / 2);
  }

  /** A probe failed or timed out: the server is silent unless it has answered since that probe was started. */
  #noAnswer(startedAt: number, error: unknown): void {
    if (this.#answeredAt >= startedAt) return;
    this.#error = error;
    this.#become(this.#isLost() ? 'lost' : 'silent');
  }

  #isLost(): boolean {
    return this.#confirmedAt === undefined || this.#leftMs(this.#confirmedAt) <= 0;
  }

  /** How long a probe may take before the server counts as silent: not beyond the moment at which it is lost. */
  #timeoutMs(): number {
    const { renewMs, durationMs } = this.#options;
    // The first answer competes with reading all members.
    if (this.#state === 'unknown') return durationMs;
    if (this.#confirmedAt === undefined || this.#state === 'lost') return renewMs;
    return Math.max(1, Math.min(Math.max(renewMs, slowdownFactor * this.#latencyMs), this.#leftMs(this.#confirmedAt)));
  }

  /** Time until it is lost: before the leases of this source expire, so that nothing is written that a reaper has just removed. */
  #leftMs(confirmedAt: number): number {
    const { clock, renewMs, durationMs } = this.#options;
    return durationMs - renewMs / 2 - silenceMs(clock, confirmedAt);
  }

  #become(state: ProbeState, isBack = false): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onChange(isBack);
  }
}
