import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import type { Logger } from 'pino';
import { messageOf } from '../api/thrown.ts';
import type { Client } from '../client/client.ts';
import { LeaderElection } from '../client/leader.ts';
import type { ControllersMetrics } from './metrics.ts';
import type { LeaderElectionOptions } from './options.ts';
import { levelOf } from './context.ts';

export interface LeadershipOptions {
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: ControllersMetrics;
  /** undefined: there is nobody else. */
  readonly options: LeaderElectionOptions | undefined;
}

/** Whether this process acts: alone, or chosen among several by Lease. */
export class Leadership {
  readonly #settings: LeadershipOptions;
  readonly #decided = Promise.withResolvers<void>();
  #isDecided = false;
  #failure: string | undefined;

  constructor(settings: LeadershipOptions) {
    this.#settings = settings;
  }

  /** Calls `act` whenever it is to act, until the signal fires. The signal of `act` fires when it no longer is. */
  async run(act: (term: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { options } = this.#settings;
    if (options === undefined) {
      this.#decide();
      return act(signal);
    }
    const { namespace = 'kube-system', name = 'fairlead-controllers' } = options;
    const election = this.#election(options, { namespace, name });
    const { leads } = this.#settings.metrics;
    leads.set({ name }, 0);
    await election.run(async (term) => {
      leads.set({ name }, 1);
      try {
        await act(term);
      } finally {
        leads.set({ name }, 0);
      }
    }, signal);
  }

  /** Resolves when it is known who acts; rejects when the signal fires before. */
  async decided(signal: AbortSignal): Promise<void> {
    if (this.#isDecided) return;
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(signal.reason);
    signal.throwIfAborted();
    signal.addEventListener('abort', stop);
    try {
      await Promise.race([this.#decided.promise, stopped.promise]);
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }

  problems(): readonly string[] {
    if (this.#isDecided) return [];
    return [`nobody is known to lead yet${this.#failure === undefined ? '' : `: ${this.#failure}`}`];
  }

  #decide(): void {
    this.#isDecided = true;
    this.#failure = undefined;
    this.#decided.resolve();
  }

  #election(
    options: LeaderElectionOptions,
    lease: { readonly namespace: string; readonly name: string },
  ): LeaderElection {
    const { client, log } = this.#settings;
    const { leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options;
    const identity = options.identity ?? `${hostname()}_${randomUUID()}`;
    return new LeaderElection({
      client,
      lease,
      identity,
      ...(leaseDurationMs === undefined ? {} : { leaseDurationMs }),
      ...(renewDeadlineMs === undefined ? {} : { renewDeadlineMs }),
      ...(retryPeriodMs === undefined ? {} : { retryPeriodMs }),
      onError: (error) => {
        this.#failure = messageOf(error);
        log[levelOf(error)]({ err: error, lease }, 'the lease could not be read or written, will try again');
      },
      onLeader: (leader) => {
        this.#decide();
        log.info({ leader, isUs: leader === identity }, 'leader');
      },
    });
  }
}
