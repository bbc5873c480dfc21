import type { Lease } from '../api/kinds/coordination/lease/kind.ts';
import { leaseKind } from '../api/kinds/coordination/lease/kind.ts';
import type { Client } from './client.ts';
import type { Clock, Random } from './clock.ts';
import { silenceMs, sleep, systemClock } from './clock.ts';
import type { Candidate, Observation } from './lease-claim.ts';
import { claimed, isHeldByOther, observe, released } from './lease-claim.ts';
import { hasStatusCode } from './transport.ts';

export interface ElectionOptions {
  readonly client: Client;
  readonly lease: { readonly namespace: string; readonly name: string };
  /** The holder identity; unique per candidate. */
  readonly identity: string;
  /** How long other candidates wait after the last renewal; default 15 s. */
  readonly leaseDurationMs?: number;
  /** How long the leader continues without a successful renewal; less than the lease duration. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** The interval of renewals and of attempts to acquire; default 2 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Called for failed requests, which are retried. */
  readonly onError?: (error: unknown) => void;
  /** Called with the holder identity when the leader changes. */
  readonly onLeader?: (identity: string) => void;
}

type Attempt = 'held' | 'lost' | 'failed';

/** Leader election by Lease, compatible with client-go. */
export class LeaderElection {
  readonly #options: ElectionOptions;
  readonly #clock: Clock;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: Observation | undefined;
  /** The lease as last written, while this candidate is the leader. */
  #held: Lease | undefined;
  #leader = '';

  constructor(options: ElectionOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#leaseDurationMs = options.leaseDurationMs ?? 15_000;
    this.#renewDeadlineMs = options.renewDeadlineMs ?? 10_000;
    this.#retryPeriodMs = options.retryPeriodMs ?? 2000;
    const isSafe =
      this.#leaseDurationMs > this.#renewDeadlineMs && this.#renewDeadlineMs > jitterFactor * this.#retryPeriodMs;
    if (!isSafe)
      throw new Error(
        'leaseDurationMs must be greater than renewDeadlineMs, and that greater than 1.2 × retryPeriodMs',
      );
  }

  get isLeader(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Takes part in the election until the signal fires. Calls `lead` for each term; its signal fires when the lease is lost
   * or the election stops. The lease is released only after `lead` has ended. If `lead` ends by itself, `run` ends too.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (await this.#acquire(signal)) {
      const lost = new AbortController();
      const term = AbortSignal.any([signal, lost.signal]);
      const leading = lead(term).finally(() => lost.abort());
      const [outcome] = await Promise.allSettled([leading, this.#renew(term, lost)]);
      const wasLost = this.#held === undefined;
      await this.#release();
      // An error after the signal has fired is not a failure.
      if (outcome.status === 'rejected' && !wasLost && !signal.aborted) throw outcome.reason;
      if (!wasLost) return;
    }
  }

  /** Resolves with true when the lease is acquired, with false if the signal fires first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if ((await this.#attempt(signal, this.#renewDeadlineMs)) === 'held') return true;
      const spread = 1 + jitterFactor * (this.#options.random ?? Math.random)();
      await sleep(this.#clock, this.#retryPeriodMs * spread, signal);
    }
    return false;
  }

  /** Renews until the signal fires or the renew deadline passes. */
  async #renew(signal: AbortSignal, lost: AbortController): Promise<void> {
    let renewedAt = this.#clock.elapsed();
    for (;;) {
      await sleep(this.#clock, this.#retryPeriodMs, signal);
      if (signal.aborted) return;
      const startedAt = this.#clock.elapsed();
      const leftMs = renewedAt + this.#renewDeadlineMs - startedAt;
      const attempt = leftMs <= 0 ? 'lost' : await this.#attempt(signal, leftMs);
      // Counted from when the request was sent; other candidates count from when they observe it, which is later.
      if (attempt === 'held') renewedAt = startedAt;
      if (signal.aborted) return;
      if (attempt === 'lost' || this.#clock.elapsed() - renewedAt >= this.#renewDeadlineMs) {
        this.#held = undefined;
        return lost.abort();
      }
    }
  }

  /** One attempt to acquire or renew the lease. */
  async #attempt(signal: AbortSignal, timeoutMs: number): Promise<Attempt> {
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort(new Error(`no response within ${timeoutMs} ms`)));
    try {
      return await this.#claim(AbortSignal.any([signal, late.signal]));
    } catch (error) {
      // A conflict means that another candidate was faster; the next attempt reads the new holder.
      if (!signal.aborted && !hasStatusCode(error, 409)) this.#options.onError?.(error);
      return 'failed';
    } finally {
      cancel();
    }
  }

  async #claim(signal: AbortSignal): Promise<Attempt> {
    if (this.#held !== undefined) {
      try {
        return this.#hold(await this.#update(this.#held, signal));
      } catch {
        // Read the lease below: it decides.
        if (signal.aborted) return 'failed';
      }
    }
    const { client, lease } = this.#options;
    const found = await client.find(leaseKind, lease, { signal });
    if (found === undefined) {
      return this.#hold(
        await client.create(leaseKind, { metadata: lease, spec: claimed(undefined, this.#claimant()) }, { signal }),
      );
    }
    this.#observed = observe(this.#observed, found.spec, this.#clock.elapsed());
    this.#setLeader(found.spec.holderIdentity ?? '');
    const silentMs = silenceMs(this.#clock, this.#observed.atMs);
    if (isHeldByOther(found.spec, { identity: this.#options.identity, silentMs })) return 'lost';
    return this.#hold(await this.#update(found, signal));
  }

  #update(lease: Lease, signal: AbortSignal): Promise<Lease> {
    const spec = claimed(lease.spec, this.#claimant());
    return this.#options.client.update(leaseKind, { ...lease, spec }, { signal });
  }

  #hold(lease: Lease): Attempt {
    this.#held = lease;
    this.#observed = { spec: lease.spec, atMs: this.#clock.elapsed() };
    this.#setLeader(this.#options.identity);
    return 'held';
  }

  /** Releases the lease, so that another candidate need not wait until it expires. */
  async #release(): Promise<void> {
    if (this.#held === undefined) return;
    this.#held = undefined;
    const { client, lease, identity } = this.#options;
    const late = new AbortController();
    const cancel = this.#clock.after(this.#retryPeriodMs, () =>
      late.abort(new Error('timeout while releasing the lease')),
    );
    try {
      // Read it again, because an aborted renewal may have been written.
      const found = await client.find(leaseKind, lease, { signal: late.signal });
      if (found?.spec.holderIdentity !== identity) return;
      const spec = released(found.spec, this.#clock.now());
      await client.update(leaseKind, { ...found, spec }, { signal: late.signal });
    } catch (error) {
      this.#options.onError?.(error); // the lease expires
    } finally {
      cancel();
    }
  }

  #claimant(): Candidate {
    const { identity } = this.#options;
    return { identity, leaseDurationMs: this.#leaseDurationMs, nowMs: this.#clock.now() };
  }

  #setLeader(identity: string): void {
    if (identity === this.#leader) return;
    this.#leader = identity;
    if (identity !== '') this.#options.onLeader?.(identity);
  }
}

const jitterFactor = 1.2;
