import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, struct } from '../../../schema/schema.ts';
import { userInfo } from '../user-info.ts';

const authentication = 'io.k8s.api.authentication.v1';

const selfSubjectReviewStatus = struct(`${authentication}.SelfSubjectReviewStatus`, 'Who asked.', {
  userInfo: always(1, userInfo, 'Who asked.'),
});

/** What `kubectl auth whoami` asks: who am I to this server? */
const selfSubjectReview = objectSchema(
  `${authentication}.SelfSubjectReview`,
  'Tells a user who they are to the server, after any impersonation.',
  { status: always(2, selfSubjectReviewStatus, 'Who asked.') },
);

export type SelfSubjectReview = Infer<typeof selfSubjectReview>;

export const selfSubjectReviewKind = defineKind<SelfSubjectReview>({
  group: 'authentication.k8s.io',
  version: 'v1',
  kind: 'SelfSubjectReview',
  plural: 'selfsubjectreviews',
  namespaced: false,
  schema: selfSubjectReview,
  verbs: ['create'],
  stored: false,
  nameErrors: subdomainName,
});
