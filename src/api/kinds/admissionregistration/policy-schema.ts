// The parts of the schemas that validating and mutating admission policies share.

import { labelSelector } from '../../metadata.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, optional, pointer, string, struct } from '../../schema/schema.ts';
import { registration } from './webhook-schema.ts';

export const paramKind = struct(`${registration}.ParamKind`, 'The kind of the parameters of a policy.', {
  apiVersion: optional(1, string, 'The group and version of the parameters.'),
  kind: optional(2, string, 'The kind of the parameters.'),
});

export const policyVariable = struct(`${registration}.Variable`, 'A variable of the expressions of a policy.', {
  name: always(1, string, 'The name: expressions read it as variables.NAME.', { required: true }),
  expression: always(2, string, 'A CEL expression for the value, evaluated when it is first read.', { required: true }),
});

export const paramRef = struct(`${registration}.ParamRef`, 'The parameters of the policy.', {
  name: optional(1, string, 'The name of the parameters. Excludes selector.'),
  namespace: optional(2, string, 'The namespace of the parameters; default: that of the written object.'),
  selector: pointer(3, labelSelector, 'Labels of the parameters: the policy is evaluated with each of them.'),
  parameterNotFoundAction: pointer(
    4,
    string,
    'Without parameters, Allow admits the write, and Deny uses the failure policy.',
  ),
});

export type ParamKind = Infer<typeof paramKind>;
export type ParamRef = Infer<typeof paramRef>;
export type PolicyVariable = Infer<typeof policyVariable>;
