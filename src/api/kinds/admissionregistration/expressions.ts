// The CEL expressions of webhooks and admission policies: their variables and types.

import type { CelType } from '../../cel/cel-type.ts';
import { bool, dyn, listOf, mapOf, printType, simple, string } from '../../cel/cel-type.ts';
import type { Program } from '../../cel/compile.ts';
import { CelCheckError, compileExpression } from '../../cel/compile.ts';

const objectOf = (fields: Readonly<Record<string, CelType>>): CelType => ({
  name: 'object',
  fields: new Map(Object.entries(fields)),
});

const versionAnd = (last: string): CelType => objectOf({ group: string, version: string, [last]: string });

const requestType = objectOf({
  kind: versionAnd('kind'),
  resource: versionAnd('resource'),
  subResource: string,
  requestKind: versionAnd('kind'),
  requestResource: versionAnd('resource'),
  requestSubResource: string,
  name: string,
  namespace: string,
  operation: string,
  userInfo: objectOf({
    username: string,
    uid: string,
    groups: listOf(string),
    extra: mapOf(listOf(string)),
  }),
  dryRun: bool,
  options: dyn,
});

const timestamp = simple('timestamp');

const namespaceType = objectOf({
  metadata: objectOf({
    name: string,
    generateName: string,
    namespace: string,
    labels: mapOf(string),
    annotations: mapOf(string),
    UID: string,
    creationTimestamp: timestamp,
    deletionGracePeriodSeconds: simple('int'),
    deletionTimestamp: timestamp,
    generation: simple('int'),
    resourceVersion: string,
    finalizers: listOf(string),
  }),
  spec: objectOf({ finalizers: listOf(string) }),
  status: objectOf({
    phase: string,
    conditions: listOf(
      objectOf({ status: string, type: string, lastTransitionTime: timestamp, message: string, reason: string }),
    ),
  }),
});

/** Which of the variables an expression may use, besides the object, the old object, the request and the namespace. */
export interface Declared {
  /** Whether there are parameters, or their type if it is known. */
  readonly params?: boolean | CelType;
  /** The type of the object, if it is known. */
  readonly object?: CelType;
  readonly authorizer?: boolean;
  /** Whether the expression can construct objects and patches, as those of mutations do. */
  readonly patchTypes?: boolean;
  /** The types of the policy's own variables, which come before the expression. */
  readonly variables?: ReadonlyMap<string, CelType>;
}

const always: readonly (readonly [string, CelType])[] = [
  ['request', requestType],
  ['namespaceObject', namespaceType],
];

/** A compiled expression, or why there is none. */
export type Compiled =
  | { readonly program: Program; readonly problem?: undefined }
  | { readonly program?: undefined; readonly problem: string };

/** Compiles an expression whose result must have one of `types`; no types: any. */
export function compileAdmission(
  text: string,
  { params = false, object = dyn, authorizer = false, patchTypes = false, variables }: Declared,
  types: readonly string[],
): Compiled {
  const declared = new Map<string, CelType>([
    ['object', object],
    ['oldObject', object],
    ...always,
    ...(params === false ? [] : [['params', params === true ? dyn : params] as const]),
    ...(authorizer
      ? ([
          ['authorizer', simple('authorizer')],
          ['authorizer.requestResource', simple('resource_check')],
        ] as const)
      : []),
    ...(variables === undefined ? [] : [['variables', { name: 'object', fields: variables } as const] as const]),
  ]);
  try {
    const program = compileExpression(text, declared, { patchTypes });
    const type = printType(program.type);
    if (types.length === 0 || types.includes(type)) return { program };
    const wanted = types.length === 1 ? types[0] : `one of [${types.join(' ')}]`;
    return { problem: `must evaluate to ${wanted} but got ${type}` };
  } catch (error) {
    if (error instanceof CelCheckError) return { problem: `compilation failed: ${error.message}` };
    throw error;
  }
}
