import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { labelSelector, objectSchema } from '../../../metadata.ts';
import { dnsSubdomainErrors, pathSegmentErrors } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { list, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { labelSelectorErrors, selectorText } from '../../../selectors/label-selector.ts';
import { defaultedMatch, matchErrors, matchResources } from '../match-resources.ts';
import { registration } from '../webhook-schema.ts';

const paramRef = struct(`${registration}.ParamRef`, 'The parameters of the policy.', {
  name: optional(1, string, 'The name of the parameters. Excludes selector.'),
  namespace: optional(2, string, 'The namespace of the parameters; default: that of the written object.'),
  selector: pointer(3, labelSelector, 'Labels of the parameters: the policy is evaluated with each of them.'),
  parameterNotFoundAction: pointer(
    4,
    string,
    'Without parameters, Allow admits the write, and Deny uses the failure policy.',
  ),
});

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
export type ParamRef = Infer<typeof paramRef>;

const actions: readonly string[] = ['Audit', 'Deny', 'Warn'];
const notFoundActions: readonly string[] = ['Deny', 'Allow'];

function bindingErrors({ spec: given = {} }: ValidatingAdmissionPolicyBinding): readonly FieldError[] {
  const { policyName = '', paramRef: ref, matchResources: match, validationActions = [] } = given;
  return [
    ...(policyName === ''
      ? [required('spec.policyName')]
      : dnsSubdomainErrors(policyName).map((problem) => invalidValue('spec.policyName', policyName, problem))),
    ...(ref === undefined ? [] : paramRefErrors('spec.paramRef', ref)),
    ...(match === undefined ? [] : matchErrors('spec.matchResources', match)),
    ...actionErrors('spec.validationActions', validationActions),
  ];
}

function paramRefErrors(path: string, { name = '', selector, parameterNotFoundAction = '' }: ParamRef): FieldError[] {
  const both = 'name and selector are mutually exclusive';
  const isBoth = name !== '' && selector !== undefined;
  return [
    ...(name === '' ? [] : pathSegmentErrors(name).map((problem) => invalidValue(`${path}.name`, name, problem))),
    ...(isBoth ? [forbiddenField(`${path}.name`, both)] : []),
    ...(selector === undefined ? [] : labelSelectorErrors(`${path}.selector`, selector)),
    ...(isBoth ? [forbiddenField(`${path}.selector`, both)] : []),
    ...(name === '' && selector === undefined ? [required(path, 'one of name or selector must be specified')] : []),
    ...(parameterNotFoundAction === ''
      ? [required(`${path}.parameterNotFoundAction`)]
      : notFoundActions.includes(parameterNotFoundAction)
        ? []
        : [notSupported(`${path}.parameterNotFoundAction`, parameterNotFoundAction, notFoundActions)]),
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

function printParamRef(ref: ParamRef | undefined): string {
  if (ref === undefined) return '<unset>';
  const { name = '', namespace = '', selector } = ref;
  if (name !== '') return `${namespace === '' ? '*' : namespace}/${name}`;
  return selector === undefined ? '<unset>' : selectorText(selector);
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
