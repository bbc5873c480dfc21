import { Counter, Histogram } from 'prom-client';
import type { Metric } from 'prom-client';

const prefix = 'apiserver_admission_webhook';
const type = 'validating';
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

  get all(): readonly Metric[] {
    return [this.#durations, this.#requests, this.#rejections, this.#failOpen];
  }

  /** Records a call. `refusedFor` is the reason why the write was rejected. */
  record(
    { name, operation }: { readonly name: string; readonly operation: string },
    { seconds, code, refusedFor }: { seconds: number; code: number; refusedFor: RefusedFor | undefined },
  ): void {
    const rejected = String(refusedFor !== undefined);
    this.#durations.observe({ name, type, operation, rejected }, seconds);
    this.#requests.inc({ name, type, operation, code: String(code), rejected });
    if (refusedFor === undefined) return;
    this.#rejections.inc({ name, type, operation, error_type: refusedFor, rejection_code: String(code) });
  }

  failedOpen(name: string): void {
    this.#failOpen.inc({ name, type });
  }
}

/** `no_error`: the webhook denied the request. */
export type RefusedFor = 'no_error' | 'calling_webhook_error';
