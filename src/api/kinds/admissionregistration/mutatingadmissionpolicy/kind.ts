import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { defaultedMatch } from '../match-resources.ts';
import { printParamKind } from '../validate-policy.ts';
import type { MutatingAdmissionPolicy } from './schema.ts';
import { mutatingAdmissionPolicy } from './schema.ts';
import { mutatingPolicyErrors } from './validate.ts';

function applyDefaults(object: MutatingAdmissionPolicy): MutatingAdmissionPolicy {
  const { matchConstraints } = object.spec ?? {};
  return {
    ...object,
    spec: {
      failurePolicy: 'Fail',
      ...object.spec,
      ...(matchConstraints === undefined ? {} : { matchConstraints: defaultedMatch(matchConstraints) }),
    },
  };
}

/** MutatingAdmissionPolicy of admissionregistration.k8s.io/v1beta1. */
export const mutatingAdmissionPolicyKind = defineKind<MutatingAdmissionPolicy>({
  group: 'admissionregistration.k8s.io',
  version: 'v1beta1',
  kind: 'MutatingAdmissionPolicy',
  plural: 'mutatingadmissionpolicies',
  gate: 'MutatingAdmissionPolicy',
  categories: ['api-extensions'],
  namespaced: false,
  schema: mutatingAdmissionPolicy,
  generation: 'spec',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column<MutatingAdmissionPolicy>('Mutations', 'Number of mutations.', ({ spec }) => spec?.mutations?.length ?? 0, {
      type: 'integer',
    }),
    column<MutatingAdmissionPolicy>('ParamKind', 'Kind of the parameters.', ({ spec }) =>
      printParamKind(spec?.paramKind),
    ),
    ageColumn,
  ],
  applyDefaults,
  validateCreate: (object) => mutatingPolicyErrors(object),
  validateUpdate: (object, old) => mutatingPolicyErrors(object, old),
});
