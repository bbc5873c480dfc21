import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, notSupported, required } from '../../../field-errors.ts';
import { equalJson } from '../../../schema/equal-json.ts';
import { matchConditionErrors } from '../match-conditions.ts';
import { matchErrors, mutatingOperationErrors, rulesErrors } from '../match-resources.ts';
import type { PolicyExpression } from '../policy-expressions.ts';
import { paramKindErrors, problemsOf, variableErrors } from '../validate-policy.ts';
import { compileMutations, expressionOf } from './expressions.ts';
import type { MutatingAdmissionPolicy, Mutation } from './schema.ts';

const failurePolicies: readonly string[] = ['Fail', 'Ignore'];
const reinvocationPolicies: readonly string[] = ['IfNeeded', 'Never'];
const patchTypes: readonly string[] = ['ApplyConfiguration', 'JSONPatch'];

/** Validation errors of a policy. Expressions that are stored already are not compiled again. */
export function mutatingPolicyErrors(
  { spec = {} }: MutatingAdmissionPolicy,
  old?: MutatingAdmissionPolicy,
): readonly FieldError[] {
  if (old !== undefined && equalJson(old.spec ?? {}, spec)) return [];
  const { failurePolicy = '', paramKind, matchConstraints, matchConditions = [], reinvocationPolicy = '' } = spec;
  const { variables, mutations } = compileMutations(spec);
  return [
    ...(failurePolicies.includes(failurePolicy)
      ? []
      : [notSupported('spec.failurePolicy', failurePolicy, failurePolicies)]),
    ...paramKindErrors('spec.paramKind', paramKind),
    ...(matchConstraints === undefined
      ? [required('spec.matchConstraints')]
      : [
          ...matchErrors('spec.matchConstraints', matchConstraints),
          ...rulesErrors('spec.matchConstraints', matchConstraints),
          ...mutatingOperationErrors('spec.matchConstraints', matchConstraints),
        ]),
    ...matchConditionErrors('spec.matchConditions', matchConditions, {
      declared: { params: paramKind !== undefined },
      stored: old?.spec?.matchConditions ?? [],
    }),
    ...variableErrors('spec.variables', spec.variables ?? [], variables),
    ...(mutations.length === 0 ? [required('spec.mutations', 'mutations must contain at least one item')] : []),
    ...mutations.flatMap(({ mutation, expression }, index) =>
      mutationErrors(`spec.mutations[${index}]`, mutation, expression),
    ),
    ...(reinvocationPolicy === ''
      ? [required('spec.reinvocationPolicy')]
      : reinvocationPolicies.includes(reinvocationPolicy)
        ? []
        : [notSupported('spec.reinvocationPolicy', reinvocationPolicy, reinvocationPolicies)]),
  ];
}

function mutationErrors(path: string, mutation: Mutation, compiled: PolicyExpression): FieldError[] {
  const { patchType } = mutation;
  if (patchType === '') return [required(`${path}.patchType`)];
  if (!patchTypes.includes(patchType)) return [notSupported(`${path}.patchType`, patchType, patchTypes)];
  const [used, unused] =
    patchType === 'JSONPatch'
      ? (['jsonPatch', 'applyConfiguration'] as const)
      : (['applyConfiguration', 'jsonPatch'] as const);
  const expression = expressionOf(mutation).trim();
  return [
    ...(mutation[used] === undefined
      ? [required(`${path}.${used}`, `must be specified when patchType is ${patchType}`)]
      : expression === ''
        ? [required(`${path}.${used}.expression`)]
        : problemsOf(`${path}.${used}.expression`, compiled)),
    ...(mutation[unused] === undefined
      ? []
      : [invalidValue(`${path}.${unused}`, `{${unused}}`, `must not be specified when patchType is ${patchType}`)]),
  ];
}
