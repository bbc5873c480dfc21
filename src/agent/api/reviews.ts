import type { TokenReview } from '../../api/kinds/authentication/tokenreview/kind.ts';
import { tokenReviewKind } from '../../api/kinds/authentication/tokenreview/kind.ts';
import type { SubjectAccessReview } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import { subjectAccessReviewKind } from '../../api/kinds/authorization/subjectaccessreview/kind.ts';
import type { Client } from '../../client/client.ts';
import type { Caller, Reviews } from './access.ts';

/** Limits how long a caller waits for the API server. */
const timeoutMs = 10_000;

/** Reviews by the API server, about requests for the node. */
export function reviewsOf(client: Client, nodeName: string): Reviews {
  return {
    async authenticate(token) {
      // The server sets the status.
      const review = { metadata: {}, spec: { token } } as TokenReview;
      const { status } = await client.create(tokenReviewKind, review, { signal: AbortSignal.timeout(timeoutMs) });
      if (status.authenticated !== true) return undefined;
      const { username = '', uid = '', groups = [], extra = {} } = status.user;
      return { username, uid, groups, extra: extra as Caller['extra'] };
    },
    async isAllowed({ username: user, uid, groups, extra }, { verb, subresource }) {
      const resourceAttributes = { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName };
      const review = {
        metadata: {},
        spec: { user, uid, groups, extra, resourceAttributes },
      } as unknown as SubjectAccessReview;
      const { status } = await client.create(subjectAccessReviewKind, review, {
        signal: AbortSignal.timeout(timeoutMs),
      });
      return status.allowed;
    },
  };
}
