import { Counter, Histogram } from 'prom-client';
import type { Metric } from 'prom-client';

import type { FailureType } from './review.ts';

const registers: [] = [];

/** A finished call. */
interface Call {
  readonly definition: string;
  /** The versions. */
  readonly from: string;
  readonly to: string;
  readonly seconds: number;
  /** Undefined if it succeeded. */
  readonly failure: FailureType | undefined;
}

/** The metrics of conversion webhooks, with the names of kube-apiserver. */
export class ConversionMetrics {
  readonly #durations = new Histogram({
    name: 'apiserver_crd_conversion_webhook_duration_seconds',
    help: 'Duration of calls of conversion webhooks in seconds, by definition.',
    labelNames: ['crd_name', 'from_version', 'to_version', 'succeeded'],
    buckets: Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power),
    registers,
  });
  readonly #requests = new Counter({
    name: 'apiserver_conversion_webhook_request_total',
    help: 'Calls of conversion webhooks, by result.',
    labelNames: ['result', 'failure_type'],
    registers,
  });

  get all(): readonly Metric[] {
    return [this.#durations, this.#requests];
  }

  record({ definition, from, to, seconds, failure }: Call): void {
    const succeeded = String(failure === undefined);
    this.#durations.observe({ crd_name: definition, from_version: from, to_version: to, succeeded }, seconds);
    this.#requests.inc({ result: failure === undefined ? 'success' : 'failure', failure_type: failure ?? '' });
  }
}
