import type { Clock, Random } from '../../client/clock.ts';
import { afterPendingReads } from '../../client/clock.ts';
import type { Name } from '../../dnswire/data.ts';
import { answered, dueProbes, failed, isDown } from './choose.ts';
import { probeQuestion } from './loop.ts';
import type { Upstream } from './upstream.ts';

export interface ProberOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Called when an upstream sends queries back to this server. */
  readonly onLoop: (upstream: Upstream) => void;
}

/** Timeout of a probe. */
const probeTimeoutMs = 1000;
/** Interval of loop checks, and how long an upstream with a loop is not used. */
const checkEveryMs = 60_000;
const avoidLoopMs = 30_000;

interface State {
  checkedAt: number;
  loopsUntil: number;
  isProbing: boolean;
}

/**
 * Probes upstreams in the background: whether those that are down are up again, and all of them regularly for forwarding
 * loops. Runs only while there are queries; it has no timer of its own.
 */
export class Prober {
  readonly #options: ProberOptions;
  readonly #states = new Map<Upstream, State>();
  /** Name of a probe in flight → its upstream. */
  readonly #probes = new Map<Name, Upstream>();
  readonly #stop = new AbortController();

  constructor(options: ProberOptions) {
    this.#options = options;
  }

  /** Starts due probes; called for every query to upstreams. */
  probeDue(upstreams: readonly Upstream[]): void {
    const now = this.#options.clock.elapsed();
    const healths = upstreams.map(({ health }) => health);
    const due = new Set(dueProbes(healths, now));
    for (const [index, upstream] of upstreams.entries()) {
      const state = this.#stateOf(upstream);
      const isCheckDue = !isDown(upstream.health) && now >= Math.max(state.checkedAt + checkEveryMs, state.loopsUntil);
      if (!state.isProbing && (due.has(index) || isCheckDue)) void this.#probe(upstream, state); // catches everything
    }
  }

  /** Whether an upstream has a forwarding loop. */
  isLooping(upstream: Upstream): boolean {
    return this.#options.clock.elapsed() < (this.#states.get(upstream)?.loopsUntil ?? -Infinity);
  }

  /** Whether a received query is a probe of this server; marks its upstream as looping. */
  detectLoop(name: Name): boolean {
    const upstream = this.#probes.get(name);
    if (upstream === undefined) return false;
    const state = this.#stateOf(upstream);
    state.loopsUntil = this.#options.clock.elapsed() + avoidLoopMs;
    // Checked again with the next query.
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
    const cancel = afterPendingReads(clock, probeTimeoutMs, stop);
    this.#stop.signal.addEventListener('abort', stop, { once: true });
    state.isProbing = true;
    state.checkedAt = startedAt;
    this.#probes.set(question.name, upstream);
    try {
      await upstream.ask({ question, dnssecOk: false, checkingDisabled: false, hops: new Uint8Array() }, abort.signal);
      // Any answer shows that the upstream is up, except our own.
      const now = clock.elapsed();
      if (isDown(upstream.health) && !this.isLooping(upstream)) {
        upstream.health = answered(upstream.health, now - startedAt, now);
      }
    } catch {
      // The reason does not matter; only the next probe time changes.
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
