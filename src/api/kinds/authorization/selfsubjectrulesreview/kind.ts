import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, list, optional, string, struct } from '../../../schema/schema.ts';

const authorization = 'io.k8s.api.authorization.v1';

const resourceRule = struct(`${authorization}.ResourceRule`, 'Allowed resource requests.', {
  verbs: always(1, list(string), 'The verbs; * is all.', { required: true }),
  apiGroups: optional(2, list(string), 'The groups of the resources; * is all.'),
  resources: optional(3, list(string), 'The resources; * is all.'),
  resourceNames: optional(4, list(string), 'The names of the objects; empty is all.'),
});

const nonResourceRule = struct(`${authorization}.NonResourceRule`, 'Allowed non-resource requests.', {
  verbs: always(1, list(string), 'The methods in lower case; * is all.', { required: true }),
  nonResourceURLs: optional(2, list(string), 'The paths; a * at the end matches any suffix.'),
});

const subjectRulesReviewStatus = struct(
  `${authorization}.SubjectRulesReviewStatus`,
  'The requests that the caller may perform.',
  {
    resourceRules: always(1, list(resourceRule), 'Allowed resource requests.', { required: true }),
    nonResourceRules: always(2, list(nonResourceRule), 'Allowed non-resource requests.', { required: true }),
    incomplete: always(3, boolean, 'Whether the rules may be incomplete.', { required: true }),
    evaluationError: optional(4, string, 'Error during evaluation.'),
  },
);

const selfSubjectRulesReviewSpec = struct(
  `${authorization}.SelfSubjectRulesReviewSpec`,
  'The namespace of the request.',
  {
    namespace: optional(1, string, 'The namespace.'),
  },
);

/** Used by `kubectl auth can-i --list`. */
const selfSubjectRulesReview = objectSchema(
  `${authorization}.SelfSubjectRulesReview`,
  'Lists the requests that the caller may perform in a namespace.',
  {
    spec: always(2, selfSubjectRulesReviewSpec, 'The namespace of the request.', { required: true }),
    status: always(3, subjectRulesReviewStatus, 'The requests that the caller may perform.'),
  },
);

export type SelfSubjectRulesReview = Infer<typeof selfSubjectRulesReview>;
export type RulesReviewStatus = Infer<typeof subjectRulesReviewStatus>;

/** SelfSubjectRulesReview of authorization.k8s.io/v1. */
export const selfSubjectRulesReviewKind = defineKind<SelfSubjectRulesReview>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectRulesReview',
  plural: 'selfsubjectrulesreviews',
  namespaced: false,
  stored: false,
  schema: selfSubjectRulesReview,
});
