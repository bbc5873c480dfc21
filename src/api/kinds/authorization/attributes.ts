// The attributes of requests in access reviews, shared by all kinds of access reviews.
import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, required } from '../../field-errors.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../names.ts';
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
    rawSelector: optional(1, string, 'The selector in the format of the query parameter.'),
    requirements: optional(2, list(fieldRequirement), 'The parsed selector.'),
  },
);

const labelSelectorAttributes = struct(
  `${authorization}.LabelSelectorAttributes`,
  'A label selector that narrows a request.',
  {
    rawSelector: optional(1, string, 'The selector in the format of the query parameter.'),
    requirements: optional(2, list(labelSelectorRequirement), 'The parsed selector.'),
  },
);

export const resourceAttributes = struct(
  `${authorization}.ResourceAttributes`,
  'A resource request, as authorization sees it.',
  {
    namespace: optional(1, string, 'The namespace; empty for all namespaces and for cluster-scoped resources.'),
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
  'A non-resource request, as authorization sees it.',
  {
    path: optional(1, string, 'The path of the URL.'),
    verb: optional(2, string, 'The HTTP method in lower case.'),
  },
);

export const accessReviewStatus = struct(`${authorization}.SubjectAccessReviewStatus`, 'The decision.', {
  allowed: always(1, boolean, 'Whether the request would be allowed.', { required: true }),
  denied: optional(4, boolean, 'Whether the request would be denied regardless of other authorizers.'),
  reason: optional(2, string, 'The reason.'),
  evaluationError: optional(3, string, 'Error during evaluation.'),
});

/** The request of an access review: exactly one field is set. */
export interface AccessAttributes {
  readonly resourceAttributes?: Infer<typeof resourceAttributes>;
  readonly nonResourceAttributes?: Infer<typeof nonResourceAttributes>;
}

/** Validation errors of the request, except its selectors. */
export function attributesErrors({
  resourceAttributes: resource,
  nonResourceAttributes: path,
}: AccessAttributes): FieldError[] {
  if (resource !== undefined && path !== undefined) {
    const detail = 'cannot be specified in combination with resourceAttributes';
    return [invalidValue('spec.nonResourceAttributes', inGoForm(path), detail)];
  }
  if (resource === undefined && path === undefined) {
    const detail = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    return [invalidValue('spec.resourceAttributes', null, detail)];
  }
  return [];
}

/** The attributes as Kubernetes prints them, with the names of Go fields. */
export const inGoForm = ({ path = '', verb = '' }: Infer<typeof nonResourceAttributes>): object => ({
  Path: path,
  Verb: verb,
});

/** A review must have no metadata except the namespace. */
export function metadataErrors(metadata: ObjectMeta, isNamespaced: boolean): FieldError[] {
  const { managedFields: _, namespace, ...rest } = metadata;
  const isEmpty = Object.keys(rest).length === 0 && (isNamespaced || namespace === undefined);
  return isEmpty
    ? []
    : [invalidValue('metadata', metadata, `must be empty${isNamespaced ? ' except for namespace' : ''}`)];
}

type Selector = NonNullable<NonNullable<AccessAttributes['resourceAttributes']>['labelSelector']>;
type Requirement = NonNullable<Selector['requirements']>[number];

/** Validation errors of the selectors; Kubernetes reports them after those of the user. */
export function selectorErrors({ resourceAttributes: resource }: AccessAttributes): FieldError[] {
  const path = 'spec.resourceAttributes';
  return [
    ...errorsOf(`${path}.fieldSelector`, resource?.fieldSelector, fieldErrors),
    ...errorsOf(`${path}.labelSelector`, resource?.labelSelector, labelErrors),
  ];
}

function errorsOf(
  path: string,
  selector: Selector | undefined,
  requirementErrors: (path: string, requirement: Requirement) => readonly FieldError[],
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = '', requirements = [] } = selector;
  const errors: FieldError[] = [];
  if (rawSelector !== '' && requirements.length > 0) {
    errors.push(invalidValue(`${path}.rawSelector`, rawSelector, 'may not specified at the same time as requirements'));
  }
  if (rawSelector === '' && requirements.length === 0) {
    errors.push(required(`${path}.requirements`, `when ${path} is specified, requirements or rawSelector is required`));
  }
  requirements.forEach((requirement, index) => {
    const at = `${path}.requirements[${index}]`;
    errors.push(...valuesErrors(at, requirement), ...requirementErrors(at, requirement));
  });
  return errors;
}

/** Unknown operators are accepted, since later versions can add some. */
function valuesErrors(path: string, { operator, values = [] }: Requirement): readonly FieldError[] {
  if (operator === 'In' || operator === 'NotIn') {
    const detail = "must be specified when `operator` is 'In' or 'NotIn'";
    return values.length === 0 ? [required(`${path}.values`, detail)] : [];
  }
  if (operator !== 'Exists' && operator !== 'DoesNotExist') return [];
  const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
  return values.length === 0 ? [] : [forbiddenField(`${path}.values`, detail)];
}

const fieldErrors = (path: string, { key }: Requirement): readonly FieldError[] =>
  key === '' ? [required(`${path}.key`, 'must be specified')] : [];

const labelErrors = (path: string, { key, values = [] }: Requirement): readonly FieldError[] => [
  ...invalidAll(`${path}.key`, key, qualifiedNameErrors(key)),
  ...values.flatMap((value, index) => invalidAll(`${path}.values[${index}]`, value, labelValueErrors(value))),
];
