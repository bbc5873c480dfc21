import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
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

/** How often members are told again: a server may have refused it, or somebody deleted what it was told. */
const minuteMs = 60_000;

/** How often it looks whether its certificate was renewed, in turns of telling. */
const renewTurns = 24 * 60;

/** The webhook of a set, from its start to its end: answers, and tells members where it is. */
export class Advisor implements AsyncDisposable {
  readonly #options: AdvisorOptions;
  readonly #webhook: Promise<ExportWebhook>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Member → the term in which it was told: who no longer leads tells nobody anything else. */
  readonly #told = new WeakMap<Member, AbortSignal>();
  /** Member → why it could not be told last. */
  readonly #refused = new WeakMap<Member, string>();

  constructor(options: AdvisorOptions) {
    this.#options = options;
    this.#webhook = ExportWebhook.start(options.webhook, (review, cluster) => advise(review, cluster, options.known()));
    this.#running = this.#run().catch((error: unknown) => options.onFailure(error));
  }

  /** Tells a member that takes part where to ask, and one that leaves to stop. Never rejects: it is only advice. */
  async introduce(member: Member, signal: AbortSignal): Promise<void> {
    try {
      await (await this.#webhook).introduce(member, signal);
      this.#refused.delete(member);
    } catch (error) {
      if (signal.aborted) return;
      const isNews = this.#refused.get(member) !== messageOf(error);
      this.#refused.set(member, messageOf(error));
      const text = 'webhook not registered, will try again: exports there go on without advice';
      this.#options.log[isNews ? 'warn' : 'debug']({ cluster: member.id, err: error }, text);
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
    const {
      clock,
      webhook: { checkMs = minuteMs },
    } = this.#options;
    for (let turn = 1; ; turn++) {
      await sleep(clock, checkMs, signal);
      if (signal.aborted) return;
      if (turn % renewTurns === 0) await webhook.renew().catch(() => undefined); // tomorrow, then
      await this.#tellAgain();
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
