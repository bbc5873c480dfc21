import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { accessReviewStatus, inGoForm, metadataErrors } from '../attributes.ts';
import { specErrors, subjectAccessReviewSpec } from '../subjectaccessreview/kind.ts';

const localSubjectAccessReview = objectSchema(
  'io.k8s.api.authorization.v1.LocalSubjectAccessReview',
  'Checks whether a user or group may perform a request in the namespace of the review.',
  {
    spec: always(2, subjectAccessReviewSpec, 'The user and the request. Its namespace must be that of the review.', {
      required: true,
    }),
    status: always(3, accessReviewStatus, 'The decision.'),
  },
);

export type LocalSubjectAccessReview = Infer<typeof localSubjectAccessReview>;

function placeErrors({ metadata, spec }: LocalSubjectAccessReview): FieldError[] {
  const { resourceAttributes, nonResourceAttributes } = spec;
  const namespace = resourceAttributes?.namespace ?? '';
  const isElsewhere = resourceAttributes !== undefined && namespace !== (metadata.namespace ?? '');
  return [
    ...(isElsewhere
      ? [invalidValue('spec.resourceAttributes.namespace', namespace, 'must match metadata.namespace')]
      : []),
    ...(nonResourceAttributes === undefined
      ? []
      : [
          invalidValue(
            'spec.nonResourceAttributes',
            inGoForm(nonResourceAttributes),
            'disallowed on this kind of request',
          ),
        ]),
  ];
}

/** LocalSubjectAccessReview of authorization.k8s.io/v1. */
export const localSubjectAccessReviewKind = defineKind<LocalSubjectAccessReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'LocalSubjectAccessReview',
  plural: 'localsubjectaccessreviews',
  namespaced: true,
  stored: false,
  schema: localSubjectAccessReview,
  validateCreate: (review) => [
    ...specErrors(review.spec),
    ...metadataErrors(review.metadata, true),
    ...placeErrors(review),
  ],
});
