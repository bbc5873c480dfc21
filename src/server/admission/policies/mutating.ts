import type { PolicyExpression } from '../../../api/kinds/admissionregistration/policy-expressions.ts';
import type { MutationExpressions } from '../../../api/kinds/admissionregistration/mutatingadmissionpolicy/expressions.ts';
import { compileMutations } from '../../../api/kinds/admissionregistration/mutatingadmissionpolicy/expressions.ts';
import { mutatingAdmissionPolicyKind } from '../../../api/kinds/admissionregistration/mutatingadmissionpolicy/kind.ts';
import type {
  MutatingAdmissionPolicy,
  MutatingPolicySpec,
  Mutation,
} from '../../../api/kinds/admissionregistration/mutatingadmissionpolicy/schema.ts';
import type { MutatingAdmissionPolicyBinding } from '../../../api/kinds/admissionregistration/mutatingadmissionpolicybinding/kind.ts';
import { mutatingAdmissionPolicyBindingKind } from '../../../api/kinds/admissionregistration/mutatingadmissionpolicybinding/kind.ts';
import { failure, forbidden } from '../../../api/errors.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { celValueOf } from '../../../api/structural/cel-types.ts';
import { yieldToEventLoop } from '../../../machine/timers.ts';
import type { AdmissionAttributes } from '../attributes.ts';
import { prepareReview, rethrowInternal, targetOf } from '../attributes.ts';
import type { ChangeObject } from '../mutation-round.ts';
import type { Budget } from '../expressions.ts';
import { evaluate, EvaluationError } from '../expressions.ts';
import type { CompiledCondition } from '../match-conditions.ts';
import { compileConditions, conditionsMatch } from '../match-conditions.ts';
import type { Mutated, MutationRound } from '../mutation-round.ts';
import { ParsedObjects } from '../parsed-objects.ts';
import { maxPolicyCost, withPolicyVariables } from './evaluate.ts';
import { MutatingPolicyMetrics } from './metrics.ts';
import { documentChange, MutationError } from './patches.ts';
import type { PolicyScopeOptions } from './scope.ts';
import { ConfigurationError, PolicyScope } from './scope.ts';

export interface MutatingPoliciesOptions extends PolicyScopeOptions {
  readonly isEnabled: boolean;
}

interface Policy {
  readonly name: string;
  readonly spec: MutatingPolicySpec;
  readonly conditions: readonly CompiledCondition[];
  readonly expressions: MutationExpressions;
}

/** A policy with one of its bindings and one of its parameters that applies to a write. */
interface Invocation {
  readonly policy: Policy;
  readonly binding: string;
  readonly kind: Kind;
  readonly param: ApiObject | undefined;
}

interface Denial {
  readonly message: string;
  readonly reason: 'Forbidden' | 'Invalid';
}

/** Other requests run when the expressions of a write have taken this long. */
const turnMs = 5;

/** Evaluates MutatingAdmissionPolicies for a write; see docs/reference/api.md. */
export class MutatingPolicies {
  readonly metrics = new MutatingPolicyMetrics();
  readonly #options: MutatingPoliciesOptions;
  readonly #scope: PolicyScope;
  readonly #policies: ParsedObjects<Policy>;
  readonly #bindings: ParsedObjects<MutatingAdmissionPolicyBinding>;

  constructor(options: MutatingPoliciesOptions) {
    this.#options = options;
    this.#scope = new PolicyScope(options);
    const { watchCache } = options;
    this.#policies = new ParsedObjects(watchCache.of(mutatingAdmissionPolicyKind), policyOf);
    this.#bindings = new ParsedObjects(watchCache.of(mutatingAdmissionPolicyBindingKind), (object) => object);
  }

  /** Whether the plugin is disabled or no policy is bound: a cheap check for every write. */
  get isIdle(): boolean {
    return !this.#options.isEnabled || this.#policies.isEmpty || this.#bindings.isEmpty;
  }

  /**
   * Evaluates the policies that apply, one after the other, and returns the changed object. In the second round, only
   * those whose evaluation is to be repeated. Throws the error for the client if one denies the write.
   */
  async mutate(attributes: AdmissionAttributes, { round, change, reinvocation }: MutationRound): Promise<Mutated> {
    let { object } = attributes;
    // Policies never see the configuration of admission: a broken policy must not prevent its own removal.
    if (attributes.kind.group === mutatingAdmissionPolicyKind.group) return { object, isChanged: false };
    const denials: Denial[] = [];
    let isChanged = false;
    let turn = performance.now();
    for (const invocation of await this.#invocations(attributes, denials)) {
      const { policy, binding, kind, param } = invocation;
      const { name, conditions, expressions, spec } = policy;
      const deny = (text: string): void => {
        if (spec.failurePolicy === 'Ignore') return;
        denials.push({ message: deniedBy(name, binding, text), reason: 'Invalid' });
      };
      const variables = async (): Promise<ReturnType<PolicyScope['variables']>> => {
        const current = { ...attributes, object };
        await prepareReview(current, kind, this.#options.conversions)?.catch(rethrowInternal);
        return this.#scope.variables(current, kind).set('params', celValueOf(param, undefined));
      };
      if (conditions.length > 0) {
        const matches = conditionsMatch(conditions, await variables(), spec.failurePolicy);
        if (matches instanceof EvaluationError) deny(matches.message);
        if (matches !== true) continue;
      }
      const key = JSON.stringify([name, binding, param?.metadata.namespace, param?.metadata.name]);
      if (round === 1 && !reinvocation.isRepeated(key)) continue;
      for (const { mutation, expression } of expressions.mutations) {
        if (object === undefined) continue;
        const started = performance.now();
        try {
          const budget = { left: maxPolicyCost };
          const given = withPolicyVariables(await variables(), expressions.variables, budget);
          object = await changed(object, kind, { mutation, expression, given, budget, change });
          isChanged = true;
          this.metrics.evaluated(name, binding, 'no_error', started);
        } catch (error) {
          const isOfPolicy = error instanceof EvaluationError || error instanceof MutationError;
          const message = isOfPolicy ? error.message : '';
          this.metrics.evaluated(name, binding, errorTypeOf(message), started);
          if (!isOfPolicy) throw error;
          deny(message);
        }
        if (performance.now() - turn > turnMs) {
          await yieldToEventLoop();
          turn = performance.now();
        }
      }
      if (spec.reinvocationPolicy === 'IfNeeded') reinvocation.record(key);
    }
    // As in Kubernetes, a mutation that was evaluated counts as a change.
    if (isChanged) reinvocation.requireRepetition();
    if (denials.length > 0) throw denied(attributes, denials);
    return { object, isChanged };
  }

  /** Kubernetes decides which policies apply before the first one changes the object. */
  async #invocations(attributes: AdmissionAttributes, denials: Denial[]): Promise<readonly Invocation[]> {
    const invocations: Invocation[] = [];
    for (const policy of this.#policies.all) {
      const { name, spec } = policy;
      const kind = this.#scope.matchedKind(spec.matchConstraints, attributes);
      if (kind === undefined) continue;
      for (const { metadata, spec: bound = {} } of this.#bindings.all) {
        if (bound.policyName !== name || !this.#scope.isBound(bound.matchResources, attributes)) continue;
        const binding = metadata.name ?? '';
        const deny = (message: string): void => {
          if (spec.failurePolicy !== 'Ignore') denials.push({ message, reason: 'Forbidden' });
        };
        try {
          await this.#scope.convert(attributes, kind);
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error;
          deny(`policy ${JSON.stringify(name)} denied request: failed to configure policy: ${error.message}`);
          continue;
        }
        try {
          for (const param of this.#scope.paramsOf(spec.paramKind, bound.paramRef, attributes)) {
            invocations.push({ policy, binding, kind, param });
          }
        } catch (error) {
          if (!(error instanceof ConfigurationError)) throw error;
          deny(deniedBy(name, binding, `failed to configure binding: ${error.message}`));
        }
      }
    }
    return invocations;
  }
}

/** The object after one mutation. */
function changed(
  object: ApiObject,
  kind: Kind,
  {
    mutation,
    expression: { text, program, problem },
    given,
    budget,
    change,
  }: {
    readonly mutation: Mutation;
    readonly expression: PolicyExpression;
    readonly given: Parameters<typeof evaluate>[1];
    readonly budget: Budget;
    readonly change: ChangeObject;
  },
): Promise<ApiObject> {
  if (program === undefined) throw new MutationError(problem);
  const value = evaluate({ text, program }, given, budget);
  return change(object, kind, documentChange(mutation.patchType, value));
}

function policyOf(object: ApiObject): Policy {
  const { metadata, spec = {} }: MutatingAdmissionPolicy = object;
  const conditions = compileConditions(spec.matchConditions ?? [], { params: spec.paramKind !== undefined });
  return { name: metadata.name ?? '', spec, conditions, expressions: compileMutations(spec) };
}

function errorTypeOf(message: string): 'compile_error' | 'out_of_budget' | 'invalid_error' {
  if (message.startsWith('compilation')) return 'compile_error';
  const isSpent = message.startsWith('validation failed due to running out of cost budget');
  return isSpent ? 'out_of_budget' : 'invalid_error';
}

const deniedBy = (policy: string, binding: string, message: string): string =>
  `policy '${policy}' with binding '${binding}' denied request: ${message}`;

/** The error of a denied write: the code is that of Forbidden whatever the reason, as in Kubernetes. */
function denied(attributes: AdmissionAttributes, denials: readonly Denial[]): Error {
  const { kind } = attributes;
  const { name } = targetOf(attributes);
  const subject = { group: kind.group, resource: kind.plural, ...(name === '' ? {} : { name }) };
  const causes = denials.map(({ message }) => ({ message }));
  const { details } = forbidden(subject, '', causes).status;
  const [first = { message: '', reason: 'Forbidden' as const }] = denials;
  return failure({ code: 403, ...first, ...(details === undefined ? {} : { details }) });
}
