// The writes between an object as it is to be and as it is.
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { isDeleting } from '../record.ts';
import type { Obstacle, Write } from './desired.ts';
import { isOurs, managedBy } from './marks.ts';

/** The writes of one kind, those that add before those that take away. */
export interface Changes {
  readonly add: readonly Write[];
  readonly remove: readonly Write[];
  readonly obstacles: readonly Obstacle[];
}

/** Nothing to do. */
export const noChanges: Changes = { add: [], remove: [], obstacles: [] };

/** An object with a spec that is all ours: hand edits are taken back (MCS-108). */
export function diffObject<T extends ApiObject & { readonly spec?: unknown }>(
  kind: Kind,
  desired: T | undefined,
  actual: T | undefined,
): Changes {
  if (desired === undefined) {
    return actual === undefined || !isOurs(actual) ? noChanges : { ...noChanges, remove: removal(kind, actual) };
  }
  if (actual === undefined) return { ...noChanges, add: [{ verb: 'create', kind, object: desired }] };
  if (!isOurs(actual)) return { ...noChanges, obstacles: [obstacle(kind, actual)] };
  // What is going cannot be mended; it is created anew once it is gone.
  if (isDeleting(actual) || (hasMetadata(actual, desired) && isDeepStrictEqual(actual.spec, desired.spec))) {
    return noChanges;
  }
  const object = { ...actual, ...desired, metadata: withMetadata(actual, desired) };
  return { ...noChanges, add: [{ verb: 'update', kind, object }] };
}

/** Labels, annotations and owners are all ours; finalizers and history are not. */
export function hasMetadata({ metadata: actual }: ApiObject, { metadata: desired }: ApiObject): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = desired;
  return (
    isDeepStrictEqual(actual.labels ?? {}, labels) &&
    isDeepStrictEqual(actual.annotations ?? {}, annotations) &&
    isDeepStrictEqual(actual.ownerReferences ?? [], ownerReferences)
  );
}

/** What is there, with what is wanted in its place. */
export function withMetadata({ metadata: actual }: ApiObject, { metadata: desired }: ApiObject): ObjectMeta {
  const { labels: _labels, annotations: _annotations, ownerReferences: _owners, ...kept } = actual;
  return { ...kept, ...desired };
}

/** Refused by the server when the object is another by now (sheet 5.4). */
export function removal(kind: Kind, object: ApiObject): readonly Write[] {
  if (isDeleting(object)) return [];
  const { uid, resourceVersion } = object.metadata;
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return [{ verb: 'delete', kind, object, preconditions }];
}

/** Says whose an object is that stands in our way. */
export function obstacle(kind: Kind, object: ApiObject): Obstacle {
  const { namespace = '', name = '', labels = {} } = object.metadata;
  const owner = Object.entries(labels).find(([label, value]) => label.endsWith('/managed-by') && value !== managedBy);
  const whose = owner === undefined ? 'was not written by this controller' : `is managed by ${owner[1]}`;
  const message = `${kind.kind} ${namespace}/${name} ${whose} and is left alone: delete it to let the service be imported`;
  return { kind, object, message };
}
