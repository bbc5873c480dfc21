import { validatingAdmissionPolicyKind } from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/kind.ts';
import type { PolicyExpressions } from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/expressions.ts';
import { compilePolicy } from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/expressions.ts';
import type {
  PolicySpec,
  ValidatingAdmissionPolicy,
} from '../../../api/kinds/admissionregistration/validatingadmissionpolicy/schema.ts';
import type { ValidatingAdmissionPolicyBinding } from '../../../api/kinds/admissionregistration/validatingadmissionpolicybinding/kind.ts';
import { validatingAdmissionPolicyBindingKind } from '../../../api/kinds/admissionregistration/validatingadmissionpolicybinding/kind.ts';
import { failure, forbidden } from '../../../api/errors.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { celValueOf } from '../../../api/structural/cel-types.ts';
import { yieldToEventLoop } from '../../../machine/timers.ts';
import type { AdmissionAttributes, ReviewOutput } from '../attributes.ts';
import { targetOf } from '../attributes.ts';
import type { CompiledCondition } from '../match-conditions.ts';
import { compileConditions } from '../match-conditions.ts';
import { ParsedObjects } from '../parsed-objects.ts';
import type { PolicyResult } from './evaluate.ts';
import { evaluatePolicy } from './evaluate.ts';
import { PolicyMetrics } from './metrics.ts';
import type { PolicyScopeOptions } from './scope.ts';
import { ConfigurationError, PolicyScope } from './scope.ts';

interface Policy {
  readonly name: string;
  readonly spec: PolicySpec;
  readonly conditions: readonly CompiledCondition[];
  readonly expressions: PolicyExpressions;
}

interface Denial {
  readonly policy: string;
  readonly binding?: string;
  readonly message: string;
  readonly reason: string;
}

/** Other requests run when the expressions of a write have taken this long. */
const turnMs = 5;

/** Evaluates ValidatingAdmissionPolicies for a write; see docs/reference/api.md. */
export class Policies {
  readonly metrics = new PolicyMetrics();
  readonly #scope: PolicyScope;
  readonly #policies: ParsedObjects<Policy>;
  readonly #bindings: ParsedObjects<ValidatingAdmissionPolicyBinding>;

  constructor(options: PolicyScopeOptions) {
    this.#scope = new PolicyScope(options);
    const { watchCache } = options;
    this.#policies = new ParsedObjects(watchCache.of(validatingAdmissionPolicyKind), policyOf);
    this.#bindings = new ParsedObjects(watchCache.of(validatingAdmissionPolicyBindingKind), (object) => object);
  }

  /** Whether no policy is bound: a cheap check for every write. */
  get isIdle(): boolean {
    return this.#policies.isEmpty || this.#bindings.isEmpty;
  }

  /** Evaluates all policies that apply. Throws the error for the client if one denies the write. */
  async validate(attributes: AdmissionAttributes, output: ReviewOutput): Promise<void> {
    // Policies never see the configuration of admission: a broken policy must not prevent its own removal.
    if (attributes.kind.group === validatingAdmissionPolicyKind.group) return;
    const denials: Denial[] = [];
    for (const policy of this.#policies.all) {
      const kind = this.#scope.matchedKind(policy.spec.matchConstraints, attributes);
      if (kind === undefined) continue;
      const annotations = new Map<string, Set<string>>();
      for (const binding of this.#bindings.all) {
        if (binding.spec?.policyName !== policy.name || !this.#scope.isBound(binding.spec.matchResources, attributes))
          continue;
        denials.push(...(await this.#check({ policy, binding, kind }, attributes, { output, annotations })));
      }
      for (const [key, values] of annotations) output.annotate(`${policy.name}/${key}`, [...values].join(', '));
    }
    const [first] = denials;
    if (first !== undefined) throw denied(attributes, first);
  }

  async #check(
    {
      policy,
      binding,
      kind,
    }: { readonly policy: Policy; readonly binding: ValidatingAdmissionPolicyBinding; readonly kind: Kind },
    attributes: AdmissionAttributes,
    { output, annotations }: { readonly output: ReviewOutput; readonly annotations: Map<string, Set<string>> },
  ): Promise<readonly Denial[]> {
    const { name, spec, conditions, expressions } = policy;
    const source = { policy: name, binding: binding.metadata.name ?? '' };
    let params: readonly (ApiObject | undefined)[];
    try {
      params = this.#scope.paramsOf(spec.paramKind, binding.spec?.paramRef, attributes);
      if (params.length > 0) await this.#scope.convert(attributes, kind, 'failed to convert object version: ');
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      const message = `failed to configure binding: ${error.message}`;
      return spec.failurePolicy === 'Ignore' ? [] : [{ ...source, message, reason: 'Invalid' }];
    }
    const shared = this.#scope.variables(attributes, kind);
    const denials: Denial[] = [];
    for (const param of params) {
      const variables = new Map([...shared, ['params', celValueOf(param, undefined)] as const]);
      const steps = evaluatePolicy(expressions, { conditions, variables, failurePolicy: spec.failurePolicy });
      const result = await this.#finish(source, steps);
      denials.push(...this.#enforce(source, binding, result, output));
      for (const [key, value] of result.annotations)
        annotations.set(key, (annotations.get(key) ?? new Set()).add(value));
    }
    return denials;
  }

  /** Runs an evaluation to its end, and lets other requests run if it takes long. */
  async #finish(
    { policy, binding = '' }: Pick<Denial, 'policy' | 'binding'>,
    steps: Generator<void, PolicyResult>,
  ): Promise<PolicyResult> {
    let seconds = 0;
    for (;;) {
      const started = performance.now();
      let step = steps.next();
      while (step.done !== true && performance.now() - started < turnMs) step = steps.next();
      seconds += (performance.now() - started) / 1000;
      if (step.done === true) {
        this.metrics.evaluated(policy, binding, seconds);
        return step.value;
      }
      await yieldToEventLoop();
    }
  }

  #enforce(
    source: { readonly policy: string; readonly binding: string },
    { spec = {} }: ValidatingAdmissionPolicyBinding,
    { violations, failedAnnotations }: PolicyResult,
    { warnings, annotate }: ReviewOutput,
  ): readonly Denial[] {
    const { policy, binding } = source;
    const denials: Denial[] = [];
    const { validationActions = [] } = spec;
    for (const violation of violations) {
      const { message, reason, index } = violation;
      for (const action of validationActions) {
        this.metrics.violated(policy, binding, violation, action.toLowerCase());
        if (action === 'Deny') denials.push({ ...source, message, reason });
        if (action === 'Warn') {
          warnings.push(
            `Validation failed for ValidatingAdmissionPolicy '${policy}' with binding '${binding}': ${message}`,
          );
        }
        if (action === 'Audit') {
          const failed = { message, policy, binding, expressionIndex: index, validationActions };
          annotate('validation.policy.admission.k8s.io/validation_failure', JSON.stringify([failed]));
        }
      }
    }
    for (const message of failedAnnotations) {
      this.metrics.violated(policy, binding, { error: 'invalid_error' }, 'deny');
      denials.push({ ...source, message, reason: 'Invalid' });
    }
    return denials;
  }
}

function policyOf(object: ApiObject): Policy {
  const { metadata, spec = {} }: ValidatingAdmissionPolicy = object;
  const conditions = compileConditions(spec.matchConditions ?? [], { params: spec.paramKind !== undefined });
  return { name: metadata.name ?? '', spec, conditions, expressions: compilePolicy(spec) };
}

const codes: Readonly<Record<string, number>> = { Forbidden: 403, Unauthorized: 401, RequestEntityTooLarge: 413 };

/** The error of a denied write: a Forbidden one, with the reason of the policy. */
function denied(attributes: AdmissionAttributes, { policy, binding, message, reason }: Denial): Error {
  const { kind } = attributes;
  const { name } = targetOf(attributes);
  const by = binding === undefined ? '' : ` with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy '${policy}'${by} denied request: ${message}`;
  const subject = { group: kind.group, resource: kind.plural, ...(name === '' ? {} : { name }) };
  const { status } = forbidden(subject, text, [{ message: text }]);
  const { details } = status;
  return failure({
    code: codes[reason] ?? 422,
    reason,
    message: status.message ?? text,
    ...(details === undefined ? {} : { details }),
  });
}
