// AdmissionReview: the request, the response, and the errors that follow from it.
import type { Kind } from '../../../api/kind.ts';
import { apiVersionOf, groupVersionKind } from '../../../api/kind.ts';
import { namespaceKind } from '../../../api/kinds/core/namespace/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import { userInfoOf } from '../../access/identity/users.ts';
import type { Status, StatusDetails } from '../../../api/errors.ts';
import { internalError, StatusError } from '../../../api/errors.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { AdmissionAttributes } from './attributes.ts';
import { converted, reviewedObject } from './attributes.ts';

const group = 'admission.k8s.io';
export const reviewVersions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof reviewVersions)[number];

/** The AdmissionReview request, with the objects in `kind`. */
export function reviewOf(
  attributes: AdmissionAttributes,
  { kind, version, uid }: { readonly kind: Kind; readonly version: ReviewVersion; readonly uid: string },
): object {
  const { operation, subresource, representation, object, old, user, dryRun, options } = attributes;
  const { name = '', namespace = '' } = reviewedObject(attributes).metadata;
  const reviewedNamespace = attributes.kind === namespaceKind ? name : namespace;
  const shown = representation?.kind ?? kind;
  const requested = representation?.kind ?? attributes.kind;
  const reviewed = (each: ApiObject | undefined): object | null =>
    each === undefined
      ? null
      : {
          ...(representation?.of(each) ?? converted(each, attributes.kind, kind)),
          kind: shown.kind,
          apiVersion: apiVersionOf(shown),
        };
  return {
    kind: 'AdmissionReview',
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      kind: groupVersionKind(shown),
      resource: resourceOf(kind),
      ...(subresource === '' ? {} : { subResource: subresource }),
      requestKind: groupVersionKind(requested),
      requestResource: resourceOf(attributes.kind),
      ...(subresource === '' ? {} : { requestSubResource: subresource }),
      ...(name === '' ? {} : { name }),
      ...(reviewedNamespace === '' ? {} : { namespace: reviewedNamespace }),
      operation,
      userInfo: userInfoOf(user),
      object: reviewed(object),
      oldObject: reviewed(old),
      dryRun,
      options,
    },
  };
}

const resourceOf = ({ group: own, version, plural }: Kind): object => ({ group: own, version, resource: plural });

/** The response of a webhook. */
export interface Verdict {
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  /** The Status of a denial, as sent. */
  readonly result: Readonly<Record<string, unknown>>;
}

/** Reads a response; throws the errors of Kubernetes. */
export function readVerdict(body: unknown, { uid, version }: { uid: string; version: ReviewVersion }): Verdict {
  const review = isJsonObject(body) ? body : {};
  const { response } = review;
  if (!isJsonObject(response)) throw new Error('webhook response was absent');
  if (version === 'v1') checkResponse(review, response, uid);
  const { allowed, warnings, status } = response;
  return {
    allowed: allowed === true,
    warnings: Array.isArray(warnings) ? warnings.filter((text) => typeof text === 'string') : [],
    result: isJsonObject(status) ? status : {},
  };
}

/** A v1 response repeats the UID and its type; a v1beta1 response need not. */
function checkResponse(
  review: Readonly<Record<string, unknown>>,
  response: Record<string, unknown>,
  uid: string,
): void {
  const { uid: responseUid, patch, patchType } = response;
  if (responseUid !== uid) throw new Error(`expected response.uid="${uid}", got ${JSON.stringify(responseUid ?? '')}`);
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

/** The error of a denied write, built from the Status of the webhook. */
export function denial(name: string, { result }: Verdict): StatusError {
  const { code, reason, message, details, metadata } = result;
  const text = (value: unknown): string => (typeof value === 'string' ? value : '');
  const why = text(message) || text(reason);
  const deniedBy = `admission webhook ${JSON.stringify(name)} denied the request`;
  const status: Status = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: isJsonObject(metadata) ? metadata : {},
    status: 'Failure',
    message: why === '' ? `${deniedBy} without explanation` : `${deniedBy}: ${why}`,
    ...(text(reason) === '' ? {} : { reason: text(reason) }),
    // The details of the webhook pass unchanged.
    ...(isJsonObject(details) ? { details: details as StatusDetails } : {}),
    code: typeof code === 'number' && Number.isInteger(code) && code >= 400 && code < 600 ? code : 400,
  };
  return new StatusError(status);
}

/** The error of a write whose webhook could not be called and has the failure policy `Fail`. */
export const callError = (name: string, error: unknown): StatusError =>
  internalError(`failed calling webhook ${JSON.stringify(name)}: ${messageOf(error)}`);
