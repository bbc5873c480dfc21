import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { list, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { defaultedMatch, matchErrors, matchResources } from '../match-resources.ts';
import { paramRef } from '../policy-schema.ts';
import { paramRefErrors, policyNameErrors, printParamRef } from '../validate-policy.ts';
import { registration } from '../webhook-schema.ts';

const spec = struct(
  `${registration}.ValidatingAdmissionPolicyBindingSpec`,
  'The policy, its parameters and its consequences.',
  {
    policyName: optional(1, string, 'The policy.'),
    paramRef: pointer(2, paramRef, 'The parameters of the policy.'),
    matchResources: pointer(3, matchResources, 'Limits the writes to which the policy applies.'),
    validationActions: optional(
      4,
      list(string),
      'Consequences of a violation: Deny, Warn, Audit. Excludes Deny with Warn.',
    ),
  },
);

/** ValidatingAdmissionPolicyBinding of admissionregistration.k8s.io/v1. */
const validatingAdmissionPolicyBinding = objectSchema(
  `${registration}.ValidatingAdmissionPolicyBinding`,
  'Enables a policy, with parameters, for some writes.',
  { spec: optional(2, spec, 'The policy, its parameters and its consequences.') },
);

export type ValidatingAdmissionPolicyBinding = Infer<typeof validatingAdmissionPolicyBinding>;

const actions: readonly string[] = ['Audit', 'Deny', 'Warn'];

function bindingErrors({ spec: given = {} }: ValidatingAdmissionPolicyBinding): readonly FieldError[] {
  const { policyName = '', paramRef: ref, matchResources: match, validationActions = [] } = given;
  return [
    ...policyNameErrors('spec.policyName', policyName),
    ...paramRefErrors('spec.paramRef', ref),
    ...(match === undefined ? [] : matchErrors('spec.matchResources', match)),
    ...actionErrors('spec.validationActions', validationActions),
  ];
}

function actionErrors(path: string, given: readonly string[]): FieldError[] {
  if (given.length === 0) return [required(path, 'at least one validation action is required')];
  const seen = new Set<string>();
  const errors = given.flatMap((action, index) => {
    const isRepeated = seen.has(action);
    seen.add(action);
    return [
      ...(actions.includes(action) ? [] : [notSupported(`${path}[${index}]`, action, actions)]),
      ...(isRepeated ? [duplicate(`${path}[${index}]`, action)] : []),
    ];
  });
  if (!seen.has('Deny') || !seen.has('Warn')) return errors;
  const why =
    'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)';
  return [...errors, invalidValue(path, given, why)];
}

/** ValidatingAdmissionPolicyBinding of admissionregistration.k8s.io/v1. */
export const validatingAdmissionPolicyBindingKind = defineKind<ValidatingAdmissionPolicyBinding>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  plural: 'validatingadmissionpolicybindings',
  categories: ['api-extensions'],
  namespaced: false,
  schema: validatingAdmissionPolicyBinding,
  generation: 'spec',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column<ValidatingAdmissionPolicyBinding>('PolicyName', 'The policy.', ({ spec: of }) => of?.policyName ?? ''),
    column<ValidatingAdmissionPolicyBinding>('ParamRef', 'The parameters.', ({ spec: of }) =>
      printParamRef(of?.paramRef),
    ),
    ageColumn,
  ],
  applyDefaults: (object) => {
    const match = object.spec?.matchResources;
    return match === undefined
      ? object
      : { ...object, spec: { ...object.spec, matchResources: defaultedMatch(match) } };
  },
  validateCreate: bindingErrors,
  validateUpdate: bindingErrors,
});
