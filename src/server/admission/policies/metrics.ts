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

const mutatingPrefix = 'apiserver_mutating_admission_policy';
const mutatingLabels = ['policy', 'policy_binding', 'error_type'];

/** The metrics of mutating admission policies, with the names of kube-apiserver. */
export class MutatingPolicyMetrics {
  readonly #checks = new Counter({
    name: `${mutatingPrefix}_check_total`,
    help: 'Mutations that were evaluated.',
    labelNames: mutatingLabels,
    registers,
  });
  readonly #durations = new Histogram({
    name: `${mutatingPrefix}_check_duration_seconds`,
    help: 'Duration of mutations in seconds.',
    labelNames: mutatingLabels,
    buckets: [0.0000005, 0.001, 0.01, 0.1, 1.0],
    registers,
  });

  get all(): readonly Metric[] {
    return [this.#checks, this.#durations];
  }

  /** Records a mutation that started at a time of `performance.now()`. */
  evaluated(policy: string, binding: string, error: Violation['error'], started: number): void {
    const labels = { policy, policy_binding: binding, error_type: error };
    this.#checks.inc(labels);
    this.#durations.observe(labels, (performance.now() - started) / 1000);
  }
}
