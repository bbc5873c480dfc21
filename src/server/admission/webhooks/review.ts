// AdmissionReview: what a webhook is asked, and what its answer means.
import type { Kind } from '../../../api/kind.ts';
import { apiVersionOf } from '../../../api/kind.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import type { User } from '../../reply.ts';
import type { Attempt } from './attempt.ts';
import { converted, subjectOfAttempt } from './attempt.ts';

const group = 'admission.k8s.io';
export const reviewVersions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof reviewVersions)[number];

/** What to ask: the attempt in the kind that the webhook wants to see. */
export function reviewOf(
  attempt: Attempt,
  { kind, version, uid }: { readonly kind: Kind; readonly version: ReviewVersion; readonly uid: string },
): object {
  const { operation, subresource, object, old, user, dryRun, options } = attempt;
  const { name = '', namespace = '' } = subjectOfAttempt(attempt).metadata;
  const space = attempt.kind === namespaceKind ? name : namespace;
  const shown = (each: ApiObject | undefined): object | null =>
    each === undefined
      ? null
      : { ...converted(each, attempt.kind, kind), kind: kind.kind, apiVersion: apiVersionOf(kind) };
  return {
    kind: 'AdmissionReview',
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      kind: { group: kind.group, version: kind.version, kind: kind.kind },
      resource: resourceOf(kind),
      ...(subresource === '' ? {} : { subResource: subresource }),
      requestKind: { group: attempt.kind.group, version: attempt.kind.version, kind: attempt.kind.kind },
      requestResource: resourceOf(attempt.kind),
      ...(subresource === '' ? {} : { requestSubResource: subresource }),
      ...(name === '' ? {} : { name }),
      ...(space === '' ? {} : { namespace: space }),
      operation,
      userInfo: userInfo(user),
      object: shown(object),
      oldObject: shown(old),
      dryRun,
      options,
    },
  };
}

const resourceOf = ({ group: own, version, plural }: Kind): object => ({ group: own, version, resource: plural });

const userInfo = ({ name, uid, groups, extra = {} }: User): object => ({
  username: name,
  ...(uid === '' ? {} : { uid }),
  ...(groups.length === 0 ? {} : { groups }),
  ...(Object.keys(extra).length === 0 ? {} : { extra }),
});

/** What a webhook has answered. */
export interface Verdict {
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  /** The Status that goes with a refusal, as sent. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** Reads an answer; throws what is wrong with it, in Kubernetes' words. */
export function readVerdict(body: unknown, { uid, version }: { uid: string; version: ReviewVersion }): Verdict {
  const review = isJsonObject(body) ? body : {};
  const { response } = review;
  if (!isJsonObject(response)) throw new Error('webhook response was absent');
  if (version === 'v1') checkAnswer(review, response, uid);
  const { allowed, warnings, status } = response;
  return {
    allowed: allowed === true,
    warnings: Array.isArray(warnings) ? warnings.filter((text) => typeof text === 'string') : [],
    result: isJsonObject(status) ? status : {},
  };
}

/** An answer of v1 says what it is and to which question; one of v1beta1 need not. */
function checkAnswer(review: Readonly<Record<string, unknown>>, response: Record<string, unknown>, uid: string): void {
  const { uid: answered, patch, patchType } = response;
  if (answered !== uid) throw new Error(`expected response.uid="${uid}", got ${JSON.stringify(answered ?? '')}`);
  const [apiVersion, kind] = [review['apiVersion'], review['kind']].map((part) =>
    typeof part === 'string' ? part : '',
  );
  if (apiVersion !== `${group}/v1` || kind !== 'AdmissionReview') {
    const want = `${group}/v1, Kind=AdmissionReview`;
    throw new Error(`expected webhook response of ${want}, got ${apiVersion}, Kind=${kind}`);
  }
  if (patch !== undefined && patch !== '') throw new Error('validating webhook may not return response.patch');
  if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
}
