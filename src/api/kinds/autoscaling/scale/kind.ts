import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import type { Kind, ScalePaths, Subresource } from '../../../kind.ts';
import type { ApiObject } from '../../../metadata.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import { decode } from '../../../schema/decode.ts';
import type { Infer } from '../../../schema/infer.ts';
import type { JsonObject } from '../../../schema/json-object.ts';
import { isJsonObject } from '../../../schema/json-object.ts';
import { always, int32, optional, string, struct } from '../../../schema/schema.ts';
import { validateMetadataCreate } from '../../../validate-metadata.ts';
import { negativeErrors } from '../../apps/workload.ts';

const autoscaling = 'io.k8s.api.autoscaling.v1';

const scaleSpec = struct(`${autoscaling}.ScaleSpec`, 'The desired scale.', {
  replicas: optional(1, int32, 'Desired number of Pods.', { default: 0 }),
});

const scaleStatus = struct(`${autoscaling}.ScaleStatus`, 'The observed scale.', {
  replicas: always(1, int32, 'Observed number of Pods.', { required: true }),
  selector: optional(2, string, 'The label selector of the Pods, as text.'),
});

const scale = objectSchema(`${autoscaling}.Scale`, 'The number of Pods of a workload.', {
  spec: always(2, scaleSpec, 'The desired scale.'),
  status: always(3, scaleStatus, 'The observed scale.'),
});

export type Scale = Infer<typeof scale>;

/** The body of the `scale` subresource of workloads. It has no path of its own. */
export const scaleKind = defineKind<Scale>({
  group: 'autoscaling',
  version: 'v1',
  kind: 'Scale',
  plural: 'scales',
  namespaced: true,
  schema: scale,
  stored: false,
  columns: [
    { ...nameColumn, format: '' },
    column('Desired', 'Desired number of Pods.', ({ spec }) => spec.replicas ?? 0, { type: 'integer' }),
    column('Available', 'Observed number of Pods.', ({ status }) => status.replicas, { type: 'integer' }),
    ageColumn,
  ],
  validateUpdate: scaleErrors,
});

/** The subresource of kinds with `scaleSelector`. */
export const scaleSubresource: Subresource = { name: 'scale', verbs: ['get', 'patch', 'update'], body: scaleKind };

function scaleErrors({ metadata, spec }: Scale): readonly FieldError[] {
  return [
    ...validateMetadataCreate(metadata, { namespaced: true, nameErrors: subdomainName }),
    ...negativeErrors({ 'spec.replicas': spec.replicas }),
  ];
}

/** The paths of workloads; custom resources declare theirs. */
const workloadPaths: ScalePaths = { desired: ['spec', 'replicas'], observed: ['status', 'replicas'] };

/** Where a kind has its replicas. */
export const scalePathsOf = ({ scalePaths = workloadPaths }: Kind): ScalePaths => scalePaths;

/** The number at a path; 0 if there is none. */
function numberAt(object: unknown, path: readonly string[]): number {
  let value = object;
  for (const name of path) value = isJsonObject(value) ? value[name] : undefined;
  return typeof value === 'number' ? value : 0;
}

/** The object with a value at a path. */
export function withValueAt(object: JsonObject, [name = '', ...rest]: readonly string[], value: unknown): JsonObject {
  const below = object[name];
  const next = rest.length === 0 ? value : withValueAt(isJsonObject(below) ? below : {}, rest, value);
  return { ...object, [name]: next };
}

/** The scale of an object, without its managers. */
export function scaleOf(kind: Kind, object: ApiObject): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const { desired, observed } = scalePathsOf(kind);
  return decode<Scale>(scaleKind.schema, {
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: numberAt(object, desired) },
    status: { replicas: numberAt(object, observed), selector: kind.scaleSelector?.(object) ?? '' },
  }).object;
}
