import { isDeepStrictEqual } from 'node:util';

import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { isJsonObject } from '../../../schema/json-object.ts';
import { always, int64, json, pointer } from '../../../schema/schema.ts';
import { negativeErrors } from '../workload.ts';

const controllerRevision = objectSchema(
  'io.k8s.api.apps.v1.ControllerRevision',
  'A snapshot of a template, to which a StatefulSet or DaemonSet can be rolled back.',
  {
    data: pointer(2, json, 'The snapshot. Cannot be changed.'),
    revision: always(3, int64, 'The number of the revision.', { required: true }),
  },
);

export type ControllerRevision = Infer<typeof controllerRevision>;

export const controllerRevisionKind = defineKind<ControllerRevision>({
  group: 'apps',
  version: 'v1',
  kind: 'ControllerRevision',
  plural: 'controllerrevisions',
  namespaced: true,
  schema: controllerRevision,
  columns: [
    nameColumn,
    column('Controller', 'The owner of the revision.', controllerText),
    column('Revision', 'The number of the revision.', ({ revision }) => revision),
    ageColumn,
  ],
  validateCreate: (object) => [...revisionErrors(object), ...dataErrors(object)],
  validateUpdate: (object, old) => [
    ...revisionErrors(object),
    ...(isDeepStrictEqual(object.data, old.data) ? [] : [invalidValue('data', object.data, 'field is immutable')]),
  ],
});

/** `statefulset.apps/web`. */
function controllerText({ metadata }: ControllerRevision): string {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  if (owner === undefined) return '<none>';
  const [group = '', version] = owner.apiVersion.split('/');
  const kind = owner.kind.toLowerCase();
  return `${version === undefined ? kind : `${kind}.${group}`}/${owner.name}`;
}

const revisionErrors = ({ revision }: ControllerRevision): readonly FieldError[] => negativeErrors({ revision });

function dataErrors({ data }: ControllerRevision): readonly FieldError[] {
  if (data === undefined || data === null) return [required('data', 'data is mandatory')];
  return isJsonObject(data) ? [] : [required('data', 'data must be a valid JSON object')];
}
