import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { afterPendingReads, silenceMs, sleep } from '../../client/clock.ts';
import { withDeadline } from './deadline.ts';
import type { PulseTimes } from './options.ts';

export interface PulseOptions extends PulseTimes {
  readonly client: Client;
  readonly clock: Clock;
  /** Called when the state has changed, or whether it is slow; `isBack`: it answers again, after it did not. */
  readonly onChange: (isBack: boolean) => void;
}

/**
 * `unknown`: not asked yet. `alive`: it answered the last question. `silent`: it did not. `lost`: not for as long as a
 * lease lasts, or it never answered.
 */
export type PulseState = 'unknown' | 'alive' | 'silent' | 'lost';

/** A server that does not answer is asked again after this. */
const askAgainMs = 1000;

/**
 * Questions without an answer yet: a server that hangs must not collect them. The last of them is not waited for long, so
 * that a server that is back is noticed soon whatever became of those before.
 */
const mostAsked = 4;

/** A server may take this many times as long as it last took before it counts as silent. */
const slowdown = 2;

/**
 * Whether a cluster answers, by a read that must reach its server: an open stream says nothing about that. The read is of
 * its namespace kube-system, whose uid tells clusters apart.
 */
export class Pulse {
  readonly #options: PulseOptions;
  #state: PulseState = 'unknown';
  #confirmedAt: number | undefined;
  /** When the last answer came, and how long it took. */
  #answeredAt = -Infinity;
  #tookMs = 0;
  #uid: string | undefined;
  #error: unknown;
  readonly #asked = new Set<Promise<void>>();

  constructor(options: PulseOptions) {
    this.#options = options;
  }

  get state(): PulseState {
    return this.#state;
  }

  /** When the last question was asked that was answered, on the clock that never jumps. */
  get confirmedAt(): number | undefined {
    return this.#confirmedAt;
  }

  /** How long the last answer took. */
  get tookMs(): number {
    return this.#tookMs;
  }

  /** It answers, but takes longer than the time between two questions. */
  get isSlow(): boolean {
    return this.#state === 'alive' && this.#tookMs > this.#options.renewMs;
  }

  get uid(): string | undefined {
    return this.#uid;
  }

  /** Why it does not answer; undefined when it does. */
  get error(): unknown {
    return this.#error;
  }

  /** Asks until the signal fires. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#options;
    while (!signal.aborted) {
      const nextAt = clock.elapsed() + renewMs;
      await this.#round(signal);
      const waitMs = this.#state === 'alive' ? nextAt - clock.elapsed() : Math.min(askAgainMs, renewMs);
      await sleep(clock, Math.max(0, waitMs), signal);
    }
    await Promise.all(this.#asked);
  }

  /** Asks, and waits for an answer until the next question is due; one that comes later counts too. */
  async #round(signal: AbortSignal): Promise<void> {
    const { clock, renewMs } = this.#options;
    if (this.#asked.size >= mostAsked) await Promise.race(this.#asked);
    if (signal.aborted) return;
    const askedAt = clock.elapsed();
    const patienceMs = this.#patienceMs();
    const cancel = afterPendingReads(clock, patienceMs, () =>
      this.#noAnswer(askedAt, new Error(`no answer in ${Math.round(patienceMs)} ms`)),
    );
    const asked = this.#ask(askedAt, signal).finally(() => {
      cancel();
      this.#asked.delete(asked);
    });
    this.#asked.add(asked);
    const over = new AbortController();
    await Promise.race([asked, sleep(clock, Math.min(renewMs, patienceMs), over.signal)]);
    over.abort();
  }

  async #ask(askedAt: number, signal: AbortSignal): Promise<void> {
    const { client, clock, renewMs, durationMs } = this.#options;
    // An answer that is older when it comes is no sign that the server is there.
    const patientMs = this.#state === 'unknown' ? durationMs : durationMs - renewMs / 2;
    const ms = this.#asked.size < mostAsked - 1 ? patientMs : Math.min(renewMs, patientMs);
    try {
      const { metadata } = await withDeadline({ signal, ms, clock }, (deadline) =>
        client.get(namespaceKind, { name: 'kube-system' }, { signal: deadline }),
      );
      const isBack = this.#confirmedAt !== undefined;
      this.#confirmedAt = Math.max(this.#confirmedAt ?? askedAt, askedAt);
      this.#answeredAt = clock.elapsed();
      const wasSlow = this.isSlow;
      this.#tookMs = silenceMs(clock, askedAt);
      this.#uid = metadata.uid;
      this.#error = undefined;
      if (this.isSlow !== wasSlow) this.#options.onChange(false);
      this.#become('alive', isBack);
    } catch (error) {
      if (!signal.aborted) this.#noAnswer(askedAt, error);
    }
  }

  /** A question got no answer, or none yet; unless another was answered since it was asked, the server is silent. */
  #noAnswer(askedAt: number, error: unknown): void {
    if (this.#answeredAt >= askedAt) return;
    this.#error = error;
    this.#become(this.#isLost() ? 'lost' : 'silent');
  }

  #isLost(): boolean {
    return this.#confirmedAt === undefined || this.#leftMs(this.#confirmedAt) <= 0;
  }

  /** How long an answer is waited for: not beyond the moment from which the cluster counts as lost without one. */
  #patienceMs(): number {
    const { renewMs, durationMs } = this.#options;
    // The first answer has more time: all members are read then, and it comes with all that.
    if (this.#state === 'unknown') return durationMs;
    if (this.#confirmedAt === undefined || this.#state === 'lost') return renewMs;
    return Math.max(1, Math.min(Math.max(renewMs, slowdown * this.#tookMs), this.#leftMs(this.#confirmedAt)));
  }

  /** Until it is lost. Sooner than the leases of others run out, so that nothing is written back that they have just removed. */
  #leftMs(confirmedAt: number): number {
    const { clock, renewMs, durationMs } = this.#options;
    return durationMs - renewMs / 2 - silenceMs(clock, confirmedAt);
  }

  #become(state: PulseState, isBack = false): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onChange(isBack);
  }
}
