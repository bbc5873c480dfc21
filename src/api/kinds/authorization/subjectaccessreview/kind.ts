import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { accessReviewStatus, metadataErrors } from '../attributes.ts';
import { specErrors, subjectAccessReviewSpec } from './spec.ts';

/** What a server that delegates its access decisions asks. */
export const subjectAccessReview = objectSchema(
  'io.k8s.api.authorization.v1.SubjectAccessReview',
  'Asks whether a user or group may do something.',
  {
    spec: always(2, subjectAccessReviewSpec, 'Who would like to do what.', { required: true }),
    status: always(3, accessReviewStatus, 'The answer.'),
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
  verbs: ['create'],
  schema: subjectAccessReview,
  nameErrors: subdomainName,
  validateCreate: ({ metadata, spec }) => [...specErrors(spec), ...metadataErrors(metadata, false)],
});
