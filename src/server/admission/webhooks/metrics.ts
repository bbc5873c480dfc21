import { Counter, Histogram } from 'prom-client';
import type { Metric } from 'prom-client';

const prefix = 'apiserver_admission_webhook';
const type = 'validating';
const registers: [] = [];

/** What is counted of webhooks, under the names of kube-apiserver; the server's registry takes them. */
export class WebhookMetrics {
  readonly #durations = new Histogram({
    name: `${prefix}_admission_duration_seconds`,
    help: 'Time that webhooks took to answer.',
    labelNames: ['name', 'type', 'operation', 'rejected'],
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 25],
    registers,
  });
  readonly #requests = new Counter({
    name: `${prefix}_request_total`,
    help: 'Questions to webhooks, by the code of the outcome.',
    labelNames: ['name', 'type', 'operation', 'code', 'rejected'],
    registers,
  });
  readonly #rejections = new Counter({
    name: `${prefix}_rejection_count`,
    help: 'Writes refused by a webhook, or because it could not be asked.',
    labelNames: ['name', 'type', 'operation', 'error_type', 'rejection_code'],
    registers,
  });
  readonly #failOpen = new Counter({
    name: `${prefix}_fail_open_count`,
    help: 'Writes that went on though a webhook could not be asked.',
    labelNames: ['name', 'type'],
    registers,
  });

  get all(): readonly Metric[] {
    return [this.#durations, this.#requests, this.#rejections, this.#failOpen];
  }

  /** A webhook was asked, or could not be. `refusedFor` is why the write does not go on. */
  asked(
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

/** `no_error`: the webhook said so. */
export type RefusedFor = 'no_error' | 'calling_webhook_error';
