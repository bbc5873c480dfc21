import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, pointer, struct } from '../../../schema/schema.ts';
import {
  accessReviewStatus,
  metadataErrors,
  nonResourceAttributes,
  questionErrors,
  resourceAttributes,
} from '../attributes.ts';
import { selectorErrors } from '../validate-selectors.ts';

const authorization = 'io.k8s.api.authorization.v1';

const selfSubjectAccessReviewSpec = struct(
  `${authorization}.SelfSubjectAccessReviewSpec`,
  'What the asker would like to do. Exactly one field is set.',
  {
    resourceAttributes: pointer(1, resourceAttributes, 'A request for a resource.'),
    nonResourceAttributes: pointer(2, nonResourceAttributes, 'A request for another path.'),
  },
);

/** What `kubectl auth can-i` asks. */
export const selfSubjectAccessReview = objectSchema(
  `${authorization}.SelfSubjectAccessReview`,
  'Asks whether the asker may do something.',
  {
    spec: always(2, selfSubjectAccessReviewSpec, 'What the asker would like to do.', { required: true }),
    status: always(3, accessReviewStatus, 'The answer.'),
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
  verbs: ['create'],
  schema: selfSubjectAccessReview,
  nameErrors: subdomainName,
  validateCreate: ({ metadata, spec }) => [
    ...questionErrors(spec),
    ...selectorErrors(spec),
    ...metadataErrors(metadata, false),
  ],
});
