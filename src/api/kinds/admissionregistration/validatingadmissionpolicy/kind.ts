import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { conditionErrors } from '../../../condition-errors.ts';
import { defineKind } from '../../../kind.ts';
import { defaultedMatch } from '../match-resources.ts';
import { printParamKind } from '../validate-policy.ts';
import type { ValidatingAdmissionPolicy } from './schema.ts';
import { validatingAdmissionPolicy } from './schema.ts';
import { policyErrors } from './validate.ts';

function applyDefaults(object: ValidatingAdmissionPolicy): ValidatingAdmissionPolicy {
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

/** ValidatingAdmissionPolicy of admissionregistration.k8s.io/v1. */
export const validatingAdmissionPolicyKind = defineKind<ValidatingAdmissionPolicy>({
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  kind: 'ValidatingAdmissionPolicy',
  plural: 'validatingadmissionpolicies',
  categories: ['api-extensions'],
  namespaced: false,
  schema: validatingAdmissionPolicy,
  generation: 'spec',
  hasStatus: true,
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column<ValidatingAdmissionPolicy>(
      'Validations',
      'Number of validations.',
      ({ spec }) => spec?.validations?.length ?? 0,
      { type: 'integer' },
    ),
    column<ValidatingAdmissionPolicy>('ParamKind', 'Kind of the parameters.', ({ spec }) =>
      printParamKind(spec?.paramKind),
    ),
    ageColumn,
  ],
  applyDefaults,
  prepareForCreate: (object) => ({ ...object, status: {} }),
  validateCreate: (object) => policyErrors(object),
  validateUpdate: (object, old) => policyErrors(object, old),
  validateStatus: ({ status }) => conditionErrors('status.conditions', status?.conditions ?? []),
});
