import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import type { Clock } from '../../client/clock.ts';
import { sleep } from '../../client/clock.ts';
import { keyFor } from '../../client/key.ts';
import { planChange } from '../explain/plan-change.ts';
import type { Member } from '../member/member.ts';
import type { ConflictPolicy } from '../merge/merged.ts';
import { textOf } from '../record.ts';
import type { Services } from '../sync/services.ts';
import type { ExportReview } from './review.ts';
import { createWarnings, dryRunWarnings } from './warnings.ts';
import type { WebhookOptions } from './webhook.ts';
import { ExportWebhook } from './webhook.ts';

export interface AdvisorOptions {
  readonly webhook: WebhookOptions;
  readonly set: () => SetState;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called once if it cannot listen. */
  readonly onFailure: (error: unknown) => void;
}

/** How often the configuration in members is checked: a server may have rejected it, or it was deleted. */
const minuteMs = 60_000;

/** How often a renewed certificate is loaded, in checks. */
const checksPerRenewal = 24 * 60;

/** Runs the export webhook and registers it in all members. */
export class Advisor implements AsyncDisposable {
  readonly #options: AdvisorOptions;
  readonly #webhook: Promise<ExportWebhook>;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Member → the term in which it was registered: only the leader registers. */
  readonly #registered = new WeakMap<Member, AbortSignal>();
  /** Member → the last error. */
  readonly #errors = new WeakMap<Member, string>();

  constructor(options: AdvisorOptions) {
    this.#options = options;
    this.#webhook = ExportWebhook.start(options.webhook, (review, cluster) => advise(review, cluster, options.set()));
    this.#running = this.#run().catch((error: unknown) => options.onFailure(error));
  }

  /** Registers the webhook in a participating member, or removes it from one that leaves. Never rejects: warnings are optional. */
  async register(member: Member, signal: AbortSignal): Promise<void> {
    try {
      await (await this.#webhook).register(member, signal);
      this.#errors.delete(member);
    } catch (error) {
      if (signal.aborted) return;
      const isNew = this.#errors.get(member) !== messageOf(error);
      this.#errors.set(member, messageOf(error));
      const text = 'registering the webhook failed, retrying: exports there get no warnings';
      this.#options.log[isNew ? 'warn' : 'debug']({ cluster: member.id, err: error }, text);
    }
    this.#registered.set(member, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    const webhook = await this.#webhook.catch(() => undefined); // it failed to listen
    await webhook?.[Symbol.asyncDispose]();
  }

  async #run(): Promise<void> {
    const webhook = await this.#webhook;
    const { signal } = this.#stop;
    const {
      clock,
      webhook: { checkMs = minuteMs },
    } = this.#options;
    for (let check = 1; ; check++) {
      await sleep(clock, checkMs, signal);
      if (signal.aborted) return;
      if (check % checksPerRenewal === 0) await webhook.renew().catch(() => undefined); // retried tomorrow
      await this.#registerAgain();
    }
  }

  async #registerAgain(): Promise<void> {
    const registered = this.#options.set().members.flatMap((member) => {
      const term = this.#registered.get(member);
      return term === undefined || term.aborted ? [] : [{ member, term }];
    });
    await Promise.all(registered.map(({ member, term }) => this.register(member, term)));
  }
}

/** The state of the cluster set. */
interface SetState {
  readonly services: Services;
  /** Participating members. */
  readonly members: readonly Member[];
  readonly conflictPolicy: ConflictPolicy;
  readonly now: string;
}

/** Warnings for the author of an export; none if the cluster is not a member of the set. */
function advise(review: ExportReview, cluster: string, set: SetState): readonly string[] {
  const member = set.members.find(({ id }) => id === cluster);
  if (member === undefined || review.operation !== 'CREATE') return [];
  const { dryRun } = review;
  if (!member.isReady) return dryRun ? [`plan: cluster ${cluster} has not been read yet, try again in a moment`] : [];
  const key = keyFor(review);
  if (member.isExported(key))
    return dryRun ? [`plan: ${textOf(review)} is exported already, nothing would change`] : [];
  const { services, ...rest } = set;
  const plan = planChange(
    key,
    { verb: 'export', member, audience: review.audience },
    { ...rest, merged: services.get(key), rules: services.rules },
  );
  services.delete(key); // removes the merged service again unless another cluster exports it
  return dryRun ? dryRunWarnings(plan, cluster) : createWarnings(plan, cluster);
}
