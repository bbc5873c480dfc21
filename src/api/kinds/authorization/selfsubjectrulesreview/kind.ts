import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, list, optional, string, struct } from '../../../schema/schema.ts';

const authorization = 'io.k8s.api.authorization.v1';

const resourceRule = struct(`${authorization}.ResourceRule`, 'What the asker may do with resources.', {
  verbs: always(1, list(string), 'What may be done; * is everything.', { required: true }),
  apiGroups: optional(2, list(string), 'The groups of the resources; * is all of them.'),
  resources: optional(3, list(string), 'The resources; * is all of them.'),
  resourceNames: optional(4, list(string), 'The names of the objects; empty is all of them.'),
});

const nonResourceRule = struct(`${authorization}.NonResourceRule`, 'What the asker may do with other paths.', {
  verbs: always(1, list(string), 'The methods in lower case; * is all of them.', { required: true }),
  nonResourceURLs: optional(2, list(string), 'The paths; * at the end stands for anything.'),
});

const subjectRulesReviewStatus = struct(`${authorization}.SubjectRulesReviewStatus`, 'Everything the asker may do.', {
  resourceRules: always(1, list(resourceRule), 'What may be done with resources.', { required: true }),
  nonResourceRules: always(2, list(nonResourceRule), 'What may be done with other paths.', { required: true }),
  incomplete: always(3, boolean, 'Whether there may be more.', { required: true }),
  evaluationError: optional(4, string, 'What went wrong while collecting.'),
});

const selfSubjectRulesReviewSpec = struct(`${authorization}.SelfSubjectRulesReviewSpec`, 'Where.', {
  namespace: optional(1, string, 'The namespace in question.'),
});

/** What `kubectl auth can-i --list` asks. */
const selfSubjectRulesReview = objectSchema(
  `${authorization}.SelfSubjectRulesReview`,
  'Asks what the asker may do in a namespace.',
  {
    spec: always(2, selfSubjectRulesReviewSpec, 'Where.', { required: true }),
    status: always(3, subjectRulesReviewStatus, 'Everything the asker may do there.'),
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
  verbs: ['create'],
  schema: selfSubjectRulesReview,
  nameErrors: subdomainName,
});
