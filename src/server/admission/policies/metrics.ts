import { Counter, Histogram } from 'prom-client';
import type { Metric } from 'prom-client';

import type { Violation } from './evaluate.ts';

const prefix = 'apiserver_validating_admission_policy';
const labelNames = ['policy', 'policy_binding', 'error_type', 'enforcement_action'];
const registers: [] = [];

/** The metrics of admission policies, with the names of kube-apiserver. */
export class PolicyMetrics {
  readonly #checks = new Counter({
    name: `${prefix}_check_total`,
    help: 'Violations of policies and failed expressions, by their consequence.',
    labelNames,
    registers,
  });
  readonly #durations = new Histogram({
    name: `${prefix}_check_duration_seconds`,
    help: 'Duration of the evaluation of a policy in seconds.',
    labelNames: ['policy', 'policy_binding'],
    buckets: [0.0000005, 0.001, 0.01, 0.1, 1.0],
    registers,
  });

  get all(): readonly Metric[] {
    return [this.#checks, this.#durations];
  }

  evaluated(policy: string, binding: string, seconds: number): void {
    this.#durations.observe({ policy, policy_binding: binding }, seconds);
  }

  violated(policy: string, binding: string, { error }: Pick<Violation, 'error'>, action: string): void {
    this.#checks.inc({ policy, policy_binding: binding, error_type: error, enforcement_action: action });
  }
}
