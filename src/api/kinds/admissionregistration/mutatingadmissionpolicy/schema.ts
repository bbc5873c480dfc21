import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, list, listMap, oneOf, optional, pointer, string, struct } from '../../../schema/schema.ts';
import { matchResources } from '../match-resources.ts';
import { paramKind, policyVariable } from '../policy-schema.ts';
import { matchCondition, registrationBeta } from '../webhook-schema.ts';

const applyConfiguration = struct(`${registrationBeta}.ApplyConfiguration`, 'A change by server-side apply.', {
  expression: optional(
    1,
    string,
    'A CEL expression for the configuration that is merged into the object, such as Object{spec: Object.spec{replicas: 3}}.',
  ),
});

const jsonPatch = struct(`${registrationBeta}.JSONPatch`, 'A change by a JSON patch.', {
  expression: optional(
    1,
    string,
    'A CEL expression for the operations, such as [JSONPatch{op: "add", path: "/spec/replicas", value: 3}].',
  ),
});

const mutation = struct(`${registrationBeta}.Mutation`, 'A change of the object.', {
  patchType: always(2, string, 'ApplyConfiguration or JSONPatch.', { required: true }),
  applyConfiguration: pointer(3, applyConfiguration, 'The change, if patchType is ApplyConfiguration.'),
  jsonPatch: pointer(4, jsonPatch, 'The change, if patchType is JSONPatch.'),
});

const spec = struct(`${registrationBeta}.MutatingAdmissionPolicySpec`, 'The writes and their changes.', {
  paramKind: pointer(1, paramKind, 'The kind of the parameters; default: the policy has none.'),
  matchConstraints: pointer(2, matchResources, 'The writes to which the policy applies.'),
  variables: optional(3, list(policyVariable), 'Variables, which can read those before them.'),
  mutations: optional(4, list(mutation), 'The changes, in their order.'),
  failurePolicy: pointer(
    5,
    oneOf('Ignore', 'Fail'),
    'How errors of expressions and parameters are handled: Ignore admits the write, Fail (the default) rejects it.',
  ),
  matchConditions: optional(
    6,
    listMap(matchCondition, ['name'], { mergeKey: 'name' }),
    'CEL expressions that must all be true for the policy to apply.',
  ),
  reinvocationPolicy: optional(
    7,
    string,
    'Never, or IfNeeded: evaluated a second time if a later policy or webhook changed the object.',
  ),
});

/** MutatingAdmissionPolicy of admissionregistration.k8s.io/v1beta1. */
export const mutatingAdmissionPolicy = objectSchema(
  `${registrationBeta}.MutatingAdmissionPolicy`,
  'Changes in CEL of the objects of writes, where a binding enables them.',
  { spec: optional(2, spec, 'The writes and their changes.') },
);

export type MutatingAdmissionPolicy = Infer<typeof mutatingAdmissionPolicy>;
export type MutatingPolicySpec = Infer<typeof spec>;
export type Mutation = Infer<typeof mutation>;
