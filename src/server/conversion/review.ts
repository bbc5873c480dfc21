// ConversionReview: the request, and the objects in the response or the errors that follow from it.
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { joinErrors } from '../../api/field-errors.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { goTypeName } from '../../api/schema/mismatch.ts';
import { validateAnnotations, validateLabels } from '../../api/validate-metadata.ts';

const group = 'apiextensions.k8s.io';

/** Why a conversion failed: values of the label `failure_type` of kube-apiserver. */
export type FailureType =
  | 'conversion_webhook_call_failure'
  | 'conversion_webhook_malformed_response_failure'
  | 'conversion_webhook_partial_response_failure'
  | 'conversion_webhook_invalid_converted_object_failure';

/** A conversion that failed. The message follows the name of the webhook. */
export class ConversionError extends Error {
  readonly type: FailureType;

  constructor(type: FailureType, message: string) {
    super(message);
    this.type = type;
  }
}

/** The first version of ConversionReview that both sides support; undefined if there is none. */
export const reviewVersion = (versions: readonly string[]): string | undefined =>
  versions.find((version) => version === 'v1' || version === 'v1beta1');

/** The request as JSON; `objects` are objects as JSON. */
export function reviewOf(
  objects: readonly string[],
  { version, uid, to }: { readonly version: string; readonly uid: string; readonly to: Kind },
): string {
  const head = `{"kind":"ConversionReview","apiVersion":"${group}/${version}"`;
  const request = `{"uid":"${uid}","desiredAPIVersion":"${apiVersionOf(to)}","objects":[${objects.join(',')}]}`;
  return `${head},"request":${request}}`;
}

/** Reads the objects of a response: those of `originals`, in their order, as objects of the kind `to`. */
export function convertedObjects(
  body: unknown,
  { version, uid, to }: { readonly version: string; readonly uid: string; readonly to: Kind },
  originals: readonly ApiObject[],
): readonly ApiObject[] {
  const objects = objectsIn(body, version, uid);
  if (objects.length !== originals.length) {
    const why = ` returned ${objects.length} objects, expected ${originals.length}`;
    throw new ConversionError('conversion_webhook_partial_response_failure', why);
  }
  return originals.map((original, index) => {
    const at = `at index ${index}`;
    const reject = (what: string, why: string): Error =>
      new ConversionError('conversion_webhook_invalid_converted_object_failure', ` returned invalid ${what}: ${why}`);
    const object = objects[index];
    if (!isJsonObject(object)) throw reject(`converted object ${at}`, `it is of type ${goTypeName(object)}`);
    const type = typeProblem(object, to);
    if (type !== undefined) throw reject(`object ${at}`, type);
    const identity = identityProblem(object, original);
    if (identity !== undefined) throw reject('object', identity);
    try {
      return { ...object, metadata: restoredMetadata(object['metadata'], original.metadata) };
    } catch (error) {
      throw error instanceof TypeError ? reject('metadata', error.message) : error;
    }
  });
}

function objectsIn(body: unknown, version: string, expectedUid: string): readonly unknown[] {
  const malformed = (why: string): Error =>
    new ConversionError('conversion_webhook_malformed_response_failure', ` failed: ${why}`);
  const review = isJsonObject(body) ? body : {};
  const { kind = '', apiVersion = '', response } = review;
  if (version === 'v1' && (apiVersion !== `${group}/v1` || kind !== 'ConversionReview')) {
    const want = `${group}/v1, Kind=ConversionReview`;
    throw malformed(`expected webhook response of ${want}, got ${String(apiVersion)}, Kind=${String(kind)}`);
  }
  if (!isJsonObject(response)) throw malformed('no response provided');
  const { uid = '', result, convertedObjects: objects } = response;
  if (version === 'v1' && uid !== expectedUid) {
    throw malformed(`expected response.uid=${JSON.stringify(expectedUid)}, got ${JSON.stringify(uid)}`);
  }
  const { status = '', message = '' } = isJsonObject(result) ? result : {};
  if (status !== 'Success') {
    const why = typeof message === 'string' ? message : '';
    throw malformed(why === '' ? `response.result.status was '${String(status)}', not 'Success'` : why);
  }
  return Array.isArray(objects) ? objects : [];
}

function typeProblem({ kind = '', apiVersion = '' }: Readonly<Record<string, unknown>>, to: Kind): string | undefined {
  const expected = apiVersionOf(to);
  if (apiVersion !== expected) {
    return `invalid groupVersion (expected ${expected}, received ${String(apiVersion)})`;
  }
  return kind === to.kind ? undefined : `invalid kind (expected ${to.kind}, received ${String(kind)})`;
}

const identity = [
  ['name', 'name'],
  ['namespace', 'namespace'],
  ['uid', 'UID'],
] as const;

function identityProblem(object: Readonly<Record<string, unknown>>, { metadata }: ApiObject): string | undefined {
  const sent = isJsonObject(object['metadata']) ? object['metadata'] : {};
  const changed = identity.find(([field]) => (metadata[field] ?? '') !== (sent[field] ?? ''));
  if (changed === undefined) return undefined;
  const [field, name] = changed;
  return `must have the same ${name}: ${metadata[field] ?? ''} != ${textOf(sent[field])}`;
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);

/** The original metadata with the labels and annotations of the converted object: a webhook cannot change the rest. */
function restoredMetadata(converted: unknown, original: ObjectMeta): ObjectMeta {
  if (converted === undefined) throw new TypeError('missing metadata in converted object');
  if (!isJsonObject(converted)) {
    throw new TypeError(`invalid metadata of type ${goTypeName(converted)} in converted object`);
  }
  const { labels: _labels, annotations: _annotations, ...kept } = original;
  const labels = restoredMap(converted['labels'], original, 'labels');
  const annotations = restoredMap(converted['annotations'], original, 'annotations');
  return { ...kept, ...(labels && { labels }), ...(annotations && { annotations }) };
}

function restoredMap(
  value: unknown,
  original: ObjectMeta,
  field: 'labels' | 'annotations',
): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return undefined;
  if (!isJsonObject(value)) {
    throw new TypeError(`invalid metadata.${field} of type ${goTypeName(value)} in converted object`);
  }
  const texts: Record<string, string> = {};
  for (const [key, text] of Object.entries(value)) {
    if (typeof text !== 'string') {
      throw new TypeError(`metadata.${field}[${key}] must be a string, but is ${goTypeName(text)} in converted object`);
    }
    texts[key] = text;
  }
  if (equalJson(texts, original[field] ?? {})) return texts;
  const errors =
    field === 'labels' ? validateLabels('metadata.labels', texts) : validateAnnotations('metadata.annotation', texts);
  if (errors.length > 0) throw new TypeError(joinErrors(errors));
  return texts;
}
