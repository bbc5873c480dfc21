import { Counter, Histogram } from 'prom-client';
import type { Metric } from 'prom-client';

const prefix = 'apiserver_admission_webhook';

/** The label `type` of kube-apiserver: `admit` for mutating webhooks. */
export type WebhookType = 'admit' | 'validating';

const registers: [] = [];

/** The metrics of webhooks, with the names of kube-apiserver. */
export class WebhookMetrics {
  readonly #durations = new Histogram({
    name: `${prefix}_admission_duration_seconds`,
    help: 'Duration of webhook calls in seconds.',
    labelNames: ['name', 'type', 'operation', 'rejected'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    registers,
  });
  readonly #requests = new Counter({
    name: `${prefix}_request_total`,
    help: 'Webhook calls by status code.',
    labelNames: ['name', 'type', 'operation', 'code', 'rejected'],
    registers,
  });
  readonly #rejections = new Counter({
    name: `${prefix}_rejection_count`,
    help: 'Writes rejected by a webhook or by a failed call.',
    labelNames: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
    registers,
  });
  readonly #failOpen = new Counter({
    name: `${prefix}_fail_open_count`,
    help: 'Writes allowed although the call failed.',
    labelNames: ['name', 'type'],
    registers,
  });

  readonly #exclusions = new Counter({
    name: 'apiserver_admission_match_condition_exclusions_total',
    help: 'Writes for which a webhook was not called because of its match conditions.',
    labelNames: ['name', 'kind', 'type', 'operation'],
    registers,
  });

  get all(): readonly Metric[] {
    return [this.#durations, this.#requests, this.#rejections, this.#failOpen, this.#exclusions];
  }

  /** Records a call. `refusedFor` is the reason why the write was rejected. */
  record(
    { name, type, operation }: { readonly name: string; readonly type: WebhookType; readonly operation: string },
    { seconds, code, refusedFor }: { seconds: number; code: number; refusedFor: RefusedFor | undefined },
  ): void {
    const rejected = String(refusedFor !== undefined);
    this.#durations.observe({ name, type, operation, rejected }, seconds);
    this.#requests.inc({ name, type, operation, code: String(code), rejected });
    if (refusedFor === undefined) return;
    this.#rejections.inc({ name, type, operation, error_type: refusedFor, rejection_code: String(code) });
  }

  failedOpen(name: string, type: WebhookType): void {
    this.#failOpen.inc({ name, type });
  }

  excluded(name: string, type: WebhookType, operation: string): void {
    this.#exclusions.inc({ name, kind: 'webhook', type, operation });
  }
}

/** `no_error`: the webhook denied the request. */
export type RefusedFor = 'no_error' | 'calling_webhook_error' | 'apiserver_internal_error';
