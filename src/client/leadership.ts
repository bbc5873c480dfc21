import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { Gauge } from 'prom-client';
import { messageOf } from '../api/error-message.ts';
import type { Client } from './client.ts';
import type { Clock } from './clock.ts';
import { LeaderElection } from './leader-election.ts';
import { unlessAborted } from './unless-aborted.ts';
import { retryLevel } from './watch-errors.ts';

/** Options of leader election; durations as in client-go. */
export interface LeaderElectionOptions {
  /** The namespace and name of the Lease. */
  readonly namespace: string;
  readonly name: string;
  /** Must be unique; default: the host name and a UUID. */
  readonly identity?: string | undefined;
  /** Default 15 s. */
  readonly leaseDurationMs?: number | undefined;
  /** Default 10 s. */
  readonly renewDeadlineMs?: number | undefined;
  /** Default 2 s. */
  readonly retryPeriodMs?: number | undefined;
}

export interface LeadershipOptions {
  readonly client: Client;
  readonly log: Logger;
  /** Registry of `leader_election_master_status`. */
  readonly metrics: Registry;
  /** undefined: this is the only replica. */
  readonly election: LeaderElectionOptions | undefined;
  readonly clock?: Clock | undefined;
}

/** Decides whether this process is the leader: it is the only replica, or it holds the Lease. */
export class Leadership {
  readonly #options: LeadershipOptions;
  readonly #decided = Promise.withResolvers<void>();
  readonly #status: Gauge<'name'>;
  /** The holder identity of this process. */
  readonly identity: string;
  #isDecided = false;
  #failure: string | undefined;

  constructor(options: LeadershipOptions) {
    this.#options = options;
    this.identity = options.election?.identity ?? `${hostname()}_${randomUUID()}`;
    this.#status = new Gauge({
      name: 'leader_election_master_status',
      help: 'Gauge of if the reporting system is master of the relevant lease, 0 indicates backup, 1 indicates master. name is the string used to identify the lease. Please make sure to group by name.',
      labelNames: ['name'],
      registers: [options.metrics],
    });
    if (options.election !== undefined) this.#status.set({ name: options.election.name }, 0);
  }

  /** Calls `lead` for each term until the signal fires. `term` fires when leadership is lost. */
  async run(lead: (term: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    const { election } = this.#options;
    if (election === undefined) {
      this.#decide();
      return lead(signal);
    }
    const { name } = election;
    await this.#electionOf(election).run(async (term) => {
      this.#status.set({ name }, 1);
      try {
        await lead(term);
      } finally {
        this.#status.set({ name }, 0);
      }
    }, signal);
  }

  /** Resolves when a leader is elected; rejects if the signal fires first. */
  async decided(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#decided.promise, this.#isDecided ? undefined : signal);
  }

  problems(): readonly string[] {
    if (this.#isDecided) return [];
    return [`no leader is known yet${this.#failure === undefined ? '' : `: ${this.#failure}`}`];
  }

  #decide(): void {
    this.#isDecided = true;
    this.#failure = undefined;
    this.#decided.resolve();
  }

  #electionOf(options: LeaderElectionOptions): LeaderElection {
    const { client, log, clock } = this.#options;
    const { namespace, name, leaseDurationMs, renewDeadlineMs, retryPeriodMs } = options;
    const { identity } = this;
    const given = Object.entries({ leaseDurationMs, renewDeadlineMs, retryPeriodMs, clock });
    return new LeaderElection({
      ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
      client,
      lease: { namespace, name },
      identity,
      onError: (error) => {
        this.#failure = messageOf(error);
        log[retryLevel(error)](
          { err: error, lease: { namespace, name } },
          'could not read or write the lease, retrying',
        );
      },
      onLeader: (leader) => {
        this.#decide();
        log.info({ leader, isSelf: leader === identity }, 'leader elected');
      },
    });
  }
}
