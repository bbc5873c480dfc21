// What an access review asks about, which all three kinds of them share.
import type { FieldError } from '../../field-errors.ts';
import { invalidValue } from '../../field-errors.ts';
import type { ObjectMeta } from '../../metadata.ts';
import { labelSelectorRequirement } from '../../metadata.ts';
import type { Infer } from '../../schema/infer.ts';
import { always, boolean, list, optional, pointer, string, struct } from '../../schema/schema.ts';

const authorization = 'io.k8s.api.authorization.v1';
const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const requirement = {
  key: always(1, string, 'The label key or the field.', { required: true }),
  operator: always(2, string, 'In, NotIn, Exists or DoesNotExist.', { required: true }),
  values: optional(3, list(string), 'The values for In and NotIn.'),
} as const;

const fieldRequirement = struct(`${meta}.FieldSelectorRequirement`, 'One condition of a field selector.', requirement);

const fieldSelectorAttributes = struct(
  `${authorization}.FieldSelectorAttributes`,
  'A field selector that narrows a request.',
  {
    rawSelector: optional(1, string, 'The selector as a query parameter has it.'),
    requirements: optional(2, list(fieldRequirement), 'The selector, read.'),
  },
);

const labelSelectorAttributes = struct(
  `${authorization}.LabelSelectorAttributes`,
  'A label selector that narrows a request.',
  {
    rawSelector: optional(1, string, 'The selector as a query parameter has it.'),
    requirements: optional(2, list(labelSelectorRequirement), 'The selector, read.'),
  },
);

export const resourceAttributes = struct(
  `${authorization}.ResourceAttributes`,
  'A request for a resource, as access rules see it.',
  {
    namespace: optional(1, string, 'The namespace; empty for all of them and for what is in none.'),
    verb: optional(2, string, 'get, list, watch, create, update, patch, delete, … or *.'),
    group: optional(3, string, 'The group of the resource; empty for the core group.'),
    version: optional(4, string, 'The version of the resource.'),
    resource: optional(5, string, 'The resource, such as services, or *.'),
    subresource: optional(6, string, 'The subresource, such as status.'),
    name: optional(7, string, 'The name of the object; empty for all of them.'),
    fieldSelector: pointer(8, fieldSelectorAttributes, 'A field selector that narrows the request.'),
    labelSelector: pointer(9, labelSelectorAttributes, 'A label selector that narrows the request.'),
  },
);

export const nonResourceAttributes = struct(
  `${authorization}.NonResourceAttributes`,
  'A request for a path outside the resources, as access rules see it.',
  {
    path: optional(1, string, 'The path of the URL.'),
    verb: optional(2, string, 'The HTTP method in lower case.'),
  },
);

export const accessReviewStatus = struct(`${authorization}.SubjectAccessReviewStatus`, 'Whether it is allowed.', {
  allowed: always(1, boolean, 'Whether the request would be allowed.', { required: true }),
  denied: optional(4, boolean, 'Whether the request would be refused whatever other authorisers say.'),
  reason: optional(2, string, 'Why.'),
  evaluationError: optional(3, string, 'What went wrong while deciding.'),
});

/** The fields that ask: exactly one of them is set. */
export interface Question {
  readonly resourceAttributes?: Infer<typeof resourceAttributes>;
  readonly nonResourceAttributes?: Infer<typeof nonResourceAttributes>;
}

/** What is wrong with the question itself. */
export function questionErrors({ resourceAttributes: resource, nonResourceAttributes: path }: Question): FieldError[] {
  if (resource !== undefined && path !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue('spec.nonResourceAttributes', asPrinted(path), detail)];
  }
  if (resource === undefined && path === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalidValue('spec.resourceAttributes', null, detail)];
  }
  return [];
}

/** Kubernetes prints these by the names of its own fields. */
export const asPrinted = ({ path = '', verb = '' }: Infer<typeof nonResourceAttributes>): object => ({
  Path: path,
  Verb: verb,
});

/** A review has no metadata but, if it is in one, its namespace. */
export function metadataErrors(metadata: ObjectMeta, isNamespaced: boolean): FieldError[] {
  const { managedFields: _, namespace, ...rest } = metadata;
  const isEmpty = Object.keys(rest).length === 0 && (isNamespaced || namespace === undefined);
  return isEmpty
    ? []
    : [invalidValue('metadata', metadata, `must be empty${isNamespaced ? ' except for namespace' : ''}`)];
}
