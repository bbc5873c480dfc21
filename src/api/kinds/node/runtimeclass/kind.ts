import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, invalidAll, invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { dnsLabelErrors } from '../../../names.ts';
import { parseQuantity } from '../../../quantity.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, atomicMap, list, map, optional, pointer, quantity, string, struct } from '../../../schema/schema.ts';
import { validateLabels } from '../../../validate-metadata.ts';
import { containerResourceNameErrors } from '../../core/resource-names.ts';
import { nodeLabelWarnings } from '../../core/node/deprecated-labels.ts';
import { toleration } from '../../core/pod/affinity.ts';
import type { Toleration } from '../../core/pod/tolerations.ts';
import { tolerationErrors } from '../../core/pod/tolerations.ts';

const node = 'io.k8s.api.node.v1';

const overhead = struct(`${node}.Overhead`, 'Resources that the runtime uses for each Pod.', {
  podFixed: optional(1, map(quantity), 'The fixed amounts for a Pod.'),
});

const scheduling = struct(`${node}.Scheduling`, 'The nodes that support the runtime.', {
  nodeSelector: optional(1, atomicMap(string), 'Required labels of the nodes.'),
  tolerations: optional(2, list(toleration), 'Tolerations that are added to Pods.'),
});

const runtimeClass = objectSchema(`${node}.RuntimeClass`, 'A container runtime that Pods may choose.', {
  handler: always(2, string, 'The name of the runtime in the configuration of nodes. Cannot be changed.', {
    required: true,
  }),
  overhead: pointer(3, overhead, 'Resources that the runtime uses for each Pod.'),
  scheduling: pointer(4, scheduling, 'The nodes that support the runtime; default: all.'),
});

export type RuntimeClass = Infer<typeof runtimeClass>;

export const runtimeClassKind = defineKind<RuntimeClass>({
  group: 'node.k8s.io',
  version: 'v1',
  kind: 'RuntimeClass',
  plural: 'runtimeclasses',
  namespaced: false,
  schema: runtimeClass,
  createOnUpdate: true,
  unconditionalUpdate: false,
  columns: [nameColumn, column('Handler', 'The name of the runtime on nodes.', ({ handler }) => handler), ageColumn],
  validateCreate: specErrors,
  validateUpdate: (object, old) => [
    ...specErrors(object),
    ...(object.handler === old.handler ? [] : [invalidValue('handler', object.handler, 'field is immutable')]),
  ],
  warnings: ({ scheduling: given }) =>
    nodeLabelWarnings(Object.keys(given?.nodeSelector ?? {}).map((key) => ['scheduling.nodeSelector:', key])),
});

function specErrors({ handler, overhead: fixed, scheduling: given = {} }: RuntimeClass): readonly FieldError[] {
  const path = 'scheduling.tolerations';
  const tolerations = given.tolerations ?? [];
  return [
    ...invalidAll('handler', handler, dnsLabelErrors(handler)),
    ...Object.entries(fixed?.podFixed ?? {}).flatMap(([name, amount]) => {
      const at = `overhead.limits[${name}]`;
      const isNegative = parseQuantity(String(amount)).nano < 0n;
      return [
        ...invalidAll(at, name, containerResourceNameErrors(name)),
        ...(isNegative ? [invalidValue(at, amount, 'must be greater than or equal to 0')] : []),
      ];
    }),
    ...validateLabels('scheduling.nodeSelector', given.nodeSelector),
    ...tolerationErrors(tolerations, path),
    ...repeated(tolerations).map((index) => repeatedToleration(`${path}[${index}]`, tolerations[index] ?? {})),
  ];
}

/** Kubernetes prints the value with the names of its Go fields. */
function repeatedToleration(path: string, { key = '', value = '', ...rest }: Toleration): FieldError {
  const { operator = '', effect = '', tolerationSeconds = null } = rest;
  const shown = { Key: key, Operator: operator, Value: value, Effect: effect, TolerationSeconds: tolerationSeconds };
  return duplicate(path, shown);
}

/** The indexes of tolerations that are listed before, whatever their seconds. */
function repeated(tolerations: NonNullable<NonNullable<RuntimeClass['scheduling']>['tolerations']>): readonly number[] {
  const keys = tolerations.map(({ key, operator, value, effect }) => JSON.stringify([key, operator, value, effect]));
  return keys.flatMap((key, index) => (keys.indexOf(key) < index ? [index] : []));
}
