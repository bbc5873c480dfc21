import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { withDeadline } from './deadline.ts';
import type { PulseTimes } from './options.ts';

export interface PulseOptions extends PulseTimes {
  readonly client: Client;
  readonly clock: Clock;
  /** Told when the state has changed; `isBack`: it answers again, after it did not. */
  readonly onChange: (isBack: boolean) => void;
}

/**
 * `unheard`: not asked yet. `alive`: it answered the last question. `silent`: it did not. `lost`: not for as long as a
 * lease lasts, or it never answered.
 */
export type PulseState = 'unheard' | 'alive' | 'silent' | 'lost';

/** A server that does not answer is asked again after this. */
const askAgainMs = 1000;

/**
 * Whether a cluster answers, by a read that must reach its server: an open stream says nothing about that. The read is of
 * its namespace kube-system, whose uid tells clusters apart.
 */
export class Pulse {
  readonly #options: PulseOptions;
  #state: PulseState = 'unheard';
  #confirmedAt: number | undefined;
  #uid: string | undefined;
  #error: unknown;

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
      await this.#ask(signal);
      if (signal.aborted) return;
      await sleep(clock, this.#state === 'alive' ? renewMs : Math.min(askAgainMs, renewMs), signal);
    }
  }

  async #ask(signal: AbortSignal): Promise<void> {
    const { client, clock } = this.#options;
    const askedAt = clock.elapsed();
    try {
      const { metadata } = await withDeadline({ signal, ms: this.#patienceMs(), clock }, (deadline) =>
        client.get(namespaceKind, { name: 'kube-system' }, { signal: deadline }),
      );
      const isBack = this.#confirmedAt !== undefined;
      this.#confirmedAt = askedAt;
      this.#uid = metadata.uid;
      this.#error = undefined;
      this.#become('alive', isBack);
    } catch (error) {
      if (signal.aborted) return;
      this.#error = error;
      this.#become(this.#isLost() ? 'lost' : 'silent');
    }
  }

  #isLost(): boolean {
    return this.#confirmedAt === undefined || this.#leftMs(this.#confirmedAt) <= 0;
  }

  /** How long an answer is waited for: not beyond the moment from which the cluster counts as lost without one. */
  #patienceMs(): number {
    const { renewMs, durationMs } = this.#options;
    // The first answer has more time: all members are read then, and it comes with all that.
    if (this.#state === 'unheard') return durationMs;
    if (this.#confirmedAt === undefined || this.#state === 'lost') return renewMs;
    return Math.max(1, Math.min(renewMs, this.#leftMs(this.#confirmedAt)));
  }

  /** Until it is lost. Sooner than the leases of others run out, so that nothing is written back that they have just removed. */
  #leftMs(confirmedAt: number): number {
    const { clock, renewMs, durationMs } = this.#options;
    return confirmedAt + durationMs - renewMs / 2 - clock.elapsed();
  }

  #become(state: PulseState, isBack = false): void {
    if (state === this.#state) return;
    this.#state = state;
    this.#options.onChange(isBack);
  }
}
