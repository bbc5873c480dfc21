import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { optional, pointer, string, struct } from '../../../schema/schema.ts';
import { defaultedMatch, matchErrors, matchResources, mutatingOperationErrors } from '../match-resources.ts';
import { paramRef } from '../policy-schema.ts';
import { paramRefErrors, policyNameErrors, printParamRef } from '../validate-policy.ts';
import { registrationBeta } from '../webhook-schema.ts';

const spec = struct(`${registrationBeta}.MutatingAdmissionPolicyBindingSpec`, 'The policy and its parameters.', {
  policyName: optional(1, string, 'The policy.'),
  paramRef: pointer(2, paramRef, 'The parameters of the policy.'),
  matchResources: pointer(3, matchResources, 'Limits the writes to which the policy applies.'),
});

/** MutatingAdmissionPolicyBinding of admissionregistration.k8s.io/v1beta1. */
const mutatingAdmissionPolicyBinding = objectSchema(
  `${registrationBeta}.MutatingAdmissionPolicyBinding`,
  'Enables a policy, with parameters, for some writes.',
  { spec: optional(2, spec, 'The policy and its parameters.') },
);

export type MutatingAdmissionPolicyBinding = Infer<typeof mutatingAdmissionPolicyBinding>;

function bindingErrors({ spec: given = {} }: MutatingAdmissionPolicyBinding): readonly FieldError[] {
  const { policyName = '', paramRef: ref, matchResources: match } = given;
  return [
    ...policyNameErrors('spec.policyName', policyName),
    ...paramRefErrors('spec.paramRef', ref),
    ...(match === undefined
      ? []
      : [...matchErrors('spec.matchResources', match), ...mutatingOperationErrors('spec.matchResources', match)]),
  ];
}

/** MutatingAdmissionPolicyBinding of admissionregistration.k8s.io/v1beta1. */
export const mutatingAdmissionPolicyBindingKind = defineKind<MutatingAdmissionPolicyBinding>({
  group: 'admissionregistration.k8s.io',
  version: 'v1beta1',
  kind: 'MutatingAdmissionPolicyBinding',
  plural: 'mutatingadmissionpolicybindings',
  gate: 'MutatingAdmissionPolicy',
  categories: ['api-extensions'],
  namespaced: false,
  schema: mutatingAdmissionPolicyBinding,
  generation: 'spec',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column<MutatingAdmissionPolicyBinding>('PolicyName', 'The policy.', ({ spec: of }) => of?.policyName ?? ''),
    column<MutatingAdmissionPolicyBinding>('ParamRef', 'The parameters.', ({ spec: of }) =>
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
