// AdmissionReview: the request, the response, and the errors that follow from it.
import type { Kind } from '../../../api/kind.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import type { Status, StatusDetails } from '../../../api/errors.ts';
import { internalError, StatusError } from '../../../api/errors.ts';
import { messageOf } from '../../../api/error-message.ts';
import type { AdmissionAttributes } from '../attributes.ts';
import { requestOf, reviewed } from '../attributes.ts';

const group = 'admission.k8s.io';
export const reviewVersions = ['v1', 'v1beta1'] as const;
export type ReviewVersion = (typeof reviewVersions)[number];

/** The AdmissionReview request, with the objects in `kind`. */
export function reviewOf(
  attributes: AdmissionAttributes,
  { kind, version, uid }: { readonly kind: Kind; readonly version: ReviewVersion; readonly uid: string },
): object {
  return {
    kind: 'AdmissionReview',
    apiVersion: `${group}/${version}`,
    request: {
      uid,
      ...requestOf(attributes, kind),
      object: reviewed(attributes, attributes.object, kind) ?? null,
      oldObject: reviewed(attributes, attributes.old, kind) ?? null,
    },
  };
}

/** The response of a webhook. */
export interface Verdict {
  readonly allowed: boolean;
  readonly warnings: readonly string[];
  /** The Status of a denial, as sent. */
  readonly result: Readonly<Record<string, unknown>>;
  readonly auditAnnotations: Readonly<Record<string, string>>;
  /** The JSON patch of a mutating webhook, decoded from JSON; undefined: none. */
  readonly patch: unknown;
}

/** Reads a response; throws the errors of Kubernetes. */
export function readVerdict(
  body: unknown,
  { uid, version, mutates }: { readonly uid: string; readonly version: ReviewVersion; readonly mutates: boolean },
): Verdict {
  const review = isJsonObject(body) ? body : {};
  const { response } = review;
  if (!isJsonObject(response)) throw new Error('webhook response was absent');
  if (version === 'v1') checkResponse(review, response, { uid, mutates });
  const { allowed, warnings, status, auditAnnotations } = response;
  return {
    allowed: allowed === true,
    warnings: Array.isArray(warnings) ? warnings.filter((text) => typeof text === 'string') : [],
    result: isJsonObject(status) ? status : {},
    auditAnnotations: Object.fromEntries(
      Object.entries(isJsonObject(auditAnnotations) ? auditAnnotations : {}).flatMap(([key, value]) =>
        typeof value === 'string' ? [[key, value]] : [],
      ),
    ),
    patch: mutates && allowed === true ? patchOf(response) : undefined,
  };
}

/** A v1 response repeats the UID and its type; a v1beta1 response need not. */
function checkResponse(
  review: Readonly<Record<string, unknown>>,
  response: Record<string, unknown>,
  { uid, mutates }: { readonly uid: string; readonly mutates: boolean },
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
  const hasPatch = patch !== undefined && patch !== null && patch !== '';
  if (!mutates) {
    if (hasPatch) throw new Error('validating webhook may not return response.patch');
    if (patchType !== undefined) throw new Error('validating webhook may not return response.patchType');
    return;
  }
  if (hasPatch && (patchType ?? '') === '') {
    throw new Error('webhook returned response.patch but not response.patchType');
  }
  if (!hasPatch && typeof patchType === 'string' && patchType !== '') {
    throw new Error('webhook returned response.patchType but not response.patch');
  }
  if (hasPatch && patchType !== 'JSONPatch') {
    throw new Error(`webhook returned invalid response.patchType of ${JSON.stringify(patchType)}`);
  }
}

/** The decoded patch of a response; an empty one is none. */
function patchOf({ patch }: Record<string, unknown>): unknown {
  if (typeof patch !== 'string' || patch === '') return undefined;
  let operations: unknown;
  try {
    operations = JSON.parse(Buffer.from(patch, 'base64').toString());
  } catch (error) {
    throw new UndecodablePatch(messageOf(error));
  }
  if (!Array.isArray(operations)) throw new UndecodablePatch('the patch is not a list of operations');
  return operations.length === 0 ? undefined : operations;
}

/** The patch of a response is not a JSON patch. */
export class UndecodablePatch extends Error {}

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
