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
  /** Who we are; different for every candidate. */
  readonly identity: string;
  /** How long others wait after our last sign of life; default 15 s. */
  readonly leaseDurationMs?: number;
  /** How long we lead without a sign of life of ours getting through; less than the lease lasts. Default 10 s. */
  readonly renewDeadlineMs?: number;
  /** Between two signs of life, and between two looks at somebody else's; default 2 s. */
  readonly retryPeriodMs?: number;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Told of requests that failed; they are made again. */
  readonly onError?: (error: unknown) => void;
  /** Told who leads now, when that changes. */
  readonly onLeader?: (identity: string) => void;
}

type Attempt = 'held' | 'lost' | 'failed';

/** A claim to be the only one of several candidates who acts, kept as a Lease as Kubernetes' own controllers do. */
export class LeaderElection {
  readonly #options: ElectionOptions;
  readonly #clock: Clock;
  readonly #leaseDurationMs: number;
  readonly #renewDeadlineMs: number;
  readonly #retryPeriodMs: number;
  #observed: Observation | undefined;
  /** The lease as we last wrote it, while we lead. */
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
    if (!isSafe) throw new Error('the lease must last longer than the deadline, and that longer than 1.2 retries');
  }

  get isLeader(): boolean {
    return this.#held !== undefined;
  }

  /**
   * Stands for election until the signal fires. Each time it is won, `lead` is called; its signal fires when the
   * lease is lost or the election stops, and nothing is claimed or given up before it has ended. When `lead` ends by
   * itself the lease is given up and `run` ends likewise.
   */
  async run(lead: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    while (await this.#acquire(signal)) {
      const lost = new AbortController();
      const term = AbortSignal.any([signal, lost.signal]);
      const leading = lead(term).finally(() => lost.abort());
      const [outcome] = await Promise.allSettled([leading, this.#renew(term, lost)]);
      const wasLost = this.#held === undefined;
      await this.#release();
      // What `lead` throws because it was told to stop is no failure.
      if (outcome.status === 'rejected' && !wasLost && !signal.aborted) throw outcome.reason;
      if (!wasLost) return;
    }
  }

  /** True when the lease is ours; false when the signal fires first. */
  async #acquire(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      if ((await this.#attempt(signal, this.#renewDeadlineMs)) === 'held') return true;
      const spread = 1 + jitterFactor * (this.#options.random ?? Math.random)();
      await sleep(this.#clock, this.#retryPeriodMs * spread, signal);
    }
    return false;
  }

  /** Signs of life until the signal fires, or until none has got through for too long. */
  async #renew(signal: AbortSignal, lost: AbortController): Promise<void> {
    let renewedAt = this.#clock.elapsed();
    for (;;) {
      await sleep(this.#clock, this.#retryPeriodMs, signal);
      if (signal.aborted) return;
      const startedAt = this.#clock.elapsed();
      const leftMs = renewedAt + this.#renewDeadlineMs - startedAt;
      const attempt = leftMs <= 0 ? 'lost' : await this.#attempt(signal, leftMs);
      // Counted from when it was sent: others count from when they see it, which is later.
      if (attempt === 'held') renewedAt = startedAt;
      if (signal.aborted) return;
      if (attempt === 'lost' || this.#clock.elapsed() - renewedAt >= this.#renewDeadlineMs) {
        this.#held = undefined;
        return lost.abort();
      }
    }
  }

  /** One try to take the lease or to hold it on. */
  async #attempt(signal: AbortSignal, timeoutMs: number): Promise<Attempt> {
    const late = new AbortController();
    const cancel = this.#clock.after(timeoutMs, () => late.abort(new Error(`no answer in ${timeoutMs} ms`)));
    try {
      return await this.#claim(AbortSignal.any([signal, late.signal]));
    } catch (error) {
      // A conflict is a race that another won: the next look tells who.
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
        // Whatever it was, what the server has now decides.
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
    this.#tell(found.spec.holderIdentity ?? '');
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
    this.#tell(this.#options.identity);
    return 'held';
  }

  /** Lets others take over at once, rather than when the lease runs out. */
  async #release(): Promise<void> {
    if (this.#held === undefined) return;
    this.#held = undefined;
    const { client, lease, identity } = this.#options;
    const late = new AbortController();
    const cancel = this.#clock.after(this.#retryPeriodMs, () => late.abort(new Error('giving up the lease took long')));
    try {
      // Read anew: a sign of life may have got through whose answer nobody waited for.
      const found = await client.find(leaseKind, lease, { signal: late.signal });
      if (found?.spec.holderIdentity !== identity) return;
      const spec = released(found.spec, this.#clock.now());
      await client.update(leaseKind, { ...found, spec }, { signal: late.signal });
    } catch (error) {
      this.#options.onError?.(error); // it runs out by itself
    } finally {
      cancel();
    }
  }

  #claimant(): Candidate {
    const { identity } = this.#options;
    return { identity, leaseDurationMs: this.#leaseDurationMs, nowMs: this.#clock.now() };
  }

  #tell(identity: string): void {
    if (identity === this.#leader) return;
    this.#leader = identity;
    if (identity !== '') this.#options.onLeader?.(identity);
  }
}

const jitterFactor = 1.2;
