// Evaluates the CEL expressions of webhooks and policies for a write.

import type { Program } from '../../api/cel/compile.ts';
import { Scope } from '../../api/cel/node.ts';
import { celValueOf } from '../../api/structural/cel-types.ts';
import type { Access, AccessCheck } from '../../api/cel/library/authorizer.ts';
import { authorizerValue, resourceCheckValue } from '../../api/cel/library/authorizer.ts';
import type { Value } from '../../api/cel/values.ts';
import { CelError, CostLimitError } from '../../api/cel/values.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { User } from '../../api/user.ts';
import { accountGroups, accountUserName } from '../access/identity/claims.ts';
import type { Authorizer } from '../access/authorize.ts';
import type { Attributes } from '../access/rbac/attributes.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { requestOf, reviewed, targetOf } from './attributes.ts';

/** Kubernetes' limit on the cost of one expression. */
const maxExpressionCost = 1_000_000;

/** The cost that is left for the expressions of a webhook or of a policy. */
export interface Budget {
  left: number;
}

/** An expression that failed, or whose budget is spent. */
export class EvaluationError extends Error {
  /** Whether the budget is spent, so that no further expression can run. */
  readonly isSpent: boolean;

  constructor(message: string, isSpent = false) {
    super(message);
    this.isSpent = isSpent;
  }
}

const spent = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** Runs an expression. Throws an `EvaluationError`. */
export function evaluate(
  { text, program }: { readonly text: string; readonly program: Program },
  variables: ReadonlyMap<string, Value>,
  budget: Budget,
): Value {
  const scope = new Scope(variables, maxExpressionCost);
  const outcome = attempt(text, program, scope);
  budget.left -= Math.ceil(scope.spent);
  if (budget.left < 0) throw new EvaluationError(spent, true);
  if (outcome instanceof EvaluationError) throw outcome;
  return outcome;
}

function attempt(text: string, program: Program, scope: Scope): Value | EvaluationError {
  try {
    return program.run(scope);
  } catch (error) {
    if (error instanceof CostLimitError) return new EvaluationError(spent, true);
    if (error instanceof RangeError) return failed(text, 'the expression nests too deeply'); // the stack overflowed
    if (error instanceof CelError) return failed(text, error.message);
    throw error;
  }
}

const failed = (text: string, why: string): EvaluationError =>
  new EvaluationError(`expression '${text}' resulted in error: ${why}`);

/** The variables of all expressions about a write, reviewed in `kind`; policies add their own. */
export function variablesOf(
  attributes: AdmissionAttributes,
  kind: Kind,
  { access, namespace }: { readonly access: Authorizer; readonly namespace?: ApiObject | undefined },
): Map<string, Value> {
  const granted = accessOf(access, attributes.user);
  const { name, namespace: within } = targetOf(attributes);
  return new Map<string, Value>([
    ['object', celValueOf(reviewed(attributes, attributes.object, kind), undefined)],
    ['oldObject', celValueOf(reviewed(attributes, attributes.old, kind), undefined)],
    ['request', celValueOf(requestOf(attributes, kind), undefined)],
    ['namespaceObject', celValueOf(namespace, undefined)],
    ['authorizer', authorizerValue(granted)],
    [
      'authorizer.requestResource',
      resourceCheckValue(granted, {
        isResource: true,
        group: kind.group,
        resource: kind.plural,
        subresource: attributes.subresource,
        namespace: within,
        name,
      }),
    ],
  ]);
}

function accessOf(access: Authorizer, user: User): Access {
  return {
    check: (request, verb) => access.decide(user, { ...withQuery(request), verb }),
    as: (namespace, name) => accessOf(access, accountUser(namespace, name)),
  };
}

type WithoutVerb<A> = A extends { readonly verb: string } ? Omit<A, 'verb'> : never;

const accountUser = (namespace: string, name: string): User => ({
  name: accountUserName(namespace, name),
  uid: '',
  groups: [...accountGroups(namespace), 'system:authenticated'],
});

function withQuery(request: AccessCheck): WithoutVerb<Attributes> {
  if (!request.isResource) return request;
  const { fieldSelector, labelSelector, ...attributes } = request;
  const query = new URLSearchParams({
    ...(fieldSelector === undefined ? {} : { fieldSelector }),
    ...(labelSelector === undefined ? {} : { labelSelector }),
  });
  return { ...attributes, query };
}
