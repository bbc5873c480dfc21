import type { Clock, Random } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';
import type { Name } from '../../dnswire/data.ts';
import { answered, dueProbes, failed, isDown } from './choose.ts';
import { probeQuestion } from './loop.ts';
import type { Upstream } from './upstream.ts';

export interface ProberOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Told when an upstream turns out to send questions back to us. */
  readonly onLoop: (upstream: Upstream) => void;
}

/** How long an answer to a probe is waited for. */
const patienceMs = 1000;
/** How often an upstream in use is tested for a loop, and how long one that failed the test is not asked. */
const checkEveryMs = 60_000;
const avoidLoopMs = 30_000;

interface State {
  checkedAt: number;
  loopsUntil: number;
  isProbing: boolean;
}

/**
 * Asks upstreams what no client waits for: those that are down whether they are back, and all of them, now and then,
 * a question that would come back if there were a loop. Only while there are questions; it has no timer of its own.
 */
export class Prober {
  readonly #options: ProberOptions;
  readonly #states = new Map<Upstream, State>();
  /** Names of probes under way → whom they were sent to. */
  readonly #probes = new Map<Name, Upstream>();
  readonly #stop = new AbortController();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Starts the probes that are due; called with every question that goes out. */
  tend(upstreams: readonly Upstream[]): void {
    const now = this.#options.clock.elapsed();
    const healths = upstreams.map(({ health }) => health);
    const due = new Set(dueProbes(healths, now));
    for (const [index, upstream] of upstreams.entries()) {
      const state = this.#stateOf(upstream);
      const isCheckDue = !isDown(upstream.health) && now >= Math.max(state.checkedAt + checkEveryMs, state.loopsUntil);
      if (!state.isProbing && (due.has(index) || isCheckDue)) void this.#probe(upstream, state); // catches everything
    }
  }

  /** Whether questions to it would come back. */
  isLooping(upstream: Upstream): boolean {
    return this.#options.clock.elapsed() < (this.#states.get(upstream)?.loopsUntil ?? -Infinity);
  }

  /** Whether a question that came in is a probe that went out. */
  recognise(name: Name): boolean {
    const upstream = this.#probes.get(name);
    if (upstream === undefined) return false;
    const state = this.#stateOf(upstream);
    state.loopsUntil = this.#options.clock.elapsed() + avoidLoopMs;
    // Checked again as soon as it is asked again.
    state.checkedAt = -Infinity;
    this.#options.onLoop(upstream);
    return true;
  }

  close(): void {
    this.#stop.abort();
  }

  async #probe(upstream: Upstream, state: State): Promise<void> {
    const { clock, random } = this.#options;
    const question = probeQuestion();
    const startedAt = clock.elapsed();
    const abort = new AbortController();
    const stop = (): void => abort.abort();
    const cancel = afterPendingReads(clock, patienceMs, stop);
    this.#stop.signal.addEventListener('abort', stop, { once: true });
    state.isProbing = true;
    state.checkedAt = startedAt;
    this.#probes.set(question.name, upstream);
    try {
      await upstream.ask({ question, dnssecOk: false, checkingDisabled: false, trail: new Uint8Array() }, abort.signal);
      // Any answer is a sign of life, but for one that we gave ourselves.
      const now = clock.elapsed();
      if (isDown(upstream.health) && !this.isLooping(upstream)) {
        upstream.health = answered(upstream.health, now - startedAt, now);
      }
    } catch {
      // Why it failed is not of interest: when it is asked next is.
      if (isDown(upstream.health)) {
        upstream.health = failed(upstream.health, startedAt, { now: clock.elapsed(), random });
        upstream.counts.failures += 1;
      }
    } finally {
      cancel();
      this.#stop.signal.removeEventListener('abort', stop);
      this.#probes.delete(question.name);
      state.isProbing = false;
    }
  }

  #stateOf(upstream: Upstream): State {
    let state = this.#states.get(upstream);
    if (state === undefined) {
      state = { checkedAt: -Infinity, loopsUntil: -Infinity, isProbing: false };
      this.#states.set(upstream, state);
    }
    return state;
  }
}
