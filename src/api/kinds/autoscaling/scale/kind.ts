import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import type { Subresource } from '../../../kind.ts';
import type { ApiObject } from '../../../metadata.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import { decode } from '../../../schema/decode.ts';
import type { Infer } from '../../../schema/infer.ts';
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

/** A workload, as far as its scale needs it. */
interface Scalable extends ApiObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: { readonly replicas?: number };
}

/** The scale of a workload, without its managers. */
export function scaleOf({ metadata, spec, status }: Scalable & ApiObject, selector: string): Scale {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metadata;
  return decode<Scale>(scaleKind.schema, {
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: spec?.replicas ?? 0 },
    status: { replicas: status?.replicas ?? 0, selector },
  }).object;
}
