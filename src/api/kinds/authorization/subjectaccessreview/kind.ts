import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import type { Infer } from '../../../schema/infer.ts';
import { list, map, optional, pointer, string, struct, always } from '../../../schema/schema.ts';
import {
  nonResourceAttributes,
  attributesErrors,
  resourceAttributes,
  selectorErrors,
  accessReviewStatus,
  metadataErrors,
} from '../attributes.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';

/** The spec of SubjectAccessReview and LocalSubjectAccessReview. */
export const subjectAccessReviewSpec = struct(
  'io.k8s.api.authorization.v1.SubjectAccessReviewSpec',
  'The user and the request. Exactly one kind of attributes is set.',
  {
    resourceAttributes: pointer(1, resourceAttributes, 'A resource request.'),
    nonResourceAttributes: pointer(2, nonResourceAttributes, 'A non-resource request.'),
    user: optional(3, string, 'The user. Only the given groups count as memberships.'),
    groups: optional(4, list(string), 'The groups of the user.'),
    extra: optional(5, map(list(string)), 'Further attributes of the user from the credentials.'),
    uid: optional(6, string, 'Distinguishes users who had the same name at different times.'),
  },
);

/** Validation errors of the spec of a review. */
export function specErrors(spec: Infer<typeof subjectAccessReviewSpec>): FieldError[] {
  const { user = '', groups = [] } = spec;
  const isNobody = user === '' && groups.length === 0;
  return [
    ...attributesErrors(spec),
    ...(isNobody ? [invalidValue('spec.user', user, 'at least one of user or group must be specified')] : []),
    ...selectorErrors(spec),
  ];
}

/** Used by servers that delegate authorization. */
export const subjectAccessReview = objectSchema(
  'io.k8s.api.authorization.v1.SubjectAccessReview',
  'Checks whether a user or group may perform a request.',
  {
    spec: always(2, subjectAccessReviewSpec, 'The user and the request.', { required: true }),
    status: always(3, accessReviewStatus, 'The decision.'),
  },
);

export type SubjectAccessReview = Infer<typeof subjectAccessReview>;

/** SubjectAccessReview of authorization.k8s.io/v1. */
export const subjectAccessReviewKind = defineKind<SubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  plural: 'subjectaccessreviews',
  namespaced: false,
  stored: false,
  schema: subjectAccessReview,
  validateCreate: ({ metadata, spec }) => [...specErrors(spec), ...metadataErrors(metadata, false)],
});
