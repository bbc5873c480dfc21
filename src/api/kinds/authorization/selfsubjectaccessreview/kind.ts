import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, pointer, struct } from '../../../schema/schema.ts';
import {
  accessReviewStatus,
  metadataErrors,
  nonResourceAttributes,
  attributesErrors,
  resourceAttributes,
  selectorErrors,
} from '../attributes.ts';

const authorization = 'io.k8s.api.authorization.v1';

const selfSubjectAccessReviewSpec = struct(
  `${authorization}.SelfSubjectAccessReviewSpec`,
  'The request. Exactly one field is set.',
  {
    resourceAttributes: pointer(1, resourceAttributes, 'A resource request.'),
    nonResourceAttributes: pointer(2, nonResourceAttributes, 'A non-resource request.'),
  },
);

/** Used by `kubectl auth can-i`. */
export const selfSubjectAccessReview = objectSchema(
  `${authorization}.SelfSubjectAccessReview`,
  'Checks whether the caller may perform a request.',
  {
    spec: always(2, selfSubjectAccessReviewSpec, 'The request.', { required: true }),
    status: always(3, accessReviewStatus, 'The decision.'),
  },
);

export type SelfSubjectAccessReview = Infer<typeof selfSubjectAccessReview>;

/** SelfSubjectAccessReview of authorization.k8s.io/v1. */
export const selfSubjectAccessReviewKind = defineKind<SelfSubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectAccessReview',
  plural: 'selfsubjectaccessreviews',
  namespaced: false,
  stored: false,
  schema: selfSubjectAccessReview,
  validateCreate: ({ metadata, spec }) => [
    ...attributesErrors(spec),
    ...selectorErrors(spec),
    ...metadataErrors(metadata, false),
  ],
});
