import type { Logger } from 'pino';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import type { Member } from '../member/member.ts';
import type { Known } from './advise.ts';
import { advise } from './advise.ts';
import type { WebhookOptions } from './webhook.ts';
import { ExportWebhook } from './webhook.ts';

export interface AdvisorOptions {
  readonly webhook: WebhookOptions;
  readonly known: () => Known;
  readonly clock: Clock;
  readonly log: Logger;
  /** Told once if it cannot listen. */
  readonly onFailure: (error: unknown) => void;
}

/** How often it looks whether its certificate was renewed. */
const renewMs = 24 * 60 * 60_000;

/** The webhook of a set, from its start to its end: answers, and tells members where it is. */
export class Advisor implements AsyncDisposable {
  readonly #options: AdvisorOptions;
  readonly #webhook: Promise<ExportWebhook>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Member → the term in which it was told: who no longer leads tells nobody anything else. */
  readonly #told = new WeakMap<Member, AbortSignal>();

  constructor(options: AdvisorOptions) {
    this.#options = options;
    this.#webhook = ExportWebhook.start(options.webhook, (review, cluster) => advise(review, cluster, options.known()));
    this.#running = this.#run().catch((error: unknown) => options.onFailure(error));
  }

  /** Tells a member that takes part where to ask, and one that leaves to stop. Never rejects: it is only advice. */
  async introduce(member: Member, signal: AbortSignal): Promise<void> {
    try {
      await (await this.#webhook).introduce(member, signal);
    } catch (error) {
      if (signal.aborted) return;
      const { log } = this.#options;
      log.warn({ cluster: member.id, err: error }, 'webhook not registered: exports there go on without advice');
    }
    this.#told.set(member, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const webhook = await this.#webhook.catch(() => undefined); // it never listened
    await webhook?.[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    const webhook = await this.#webhook;
    const { signal } = this.#stop;
    for (;;) {
      await sleep(this.#options.clock, renewMs, signal);
      if (signal.aborted) return;
      const isNew = await webhook.renew().catch(() => false); // tomorrow, then
      if (isNew) await this.#tellAgain();
    }
  }

  async #tellAgain(): Promise<void> {
    const told = this.#options.known().members.flatMap((member) => {
      const term = this.#told.get(member);
      return term === undefined || term.aborted ? [] : [{ member, term }];
    });
    await Promise.all(told.map(({ member, term }) => this.introduce(member, term)));
  }
}
