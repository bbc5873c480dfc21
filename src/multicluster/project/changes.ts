// Computes the writes from an actual to a desired object.
import { isDeepStrictEqual } from 'node:util';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import { isDeleting } from '../record.ts';
import type { ForeignObject, Write } from './desired.ts';
import { isOurs, managedBy } from './labels.ts';

/** The writes of one kind, separated because additions come before removals. */
export interface Changes {
  readonly add: readonly Write[];
  readonly remove: readonly Write[];
  readonly foreignObjects: readonly ForeignObject[];
}

/** No writes. */
export const noChanges: Changes = { add: [], remove: [], foreignObjects: [] };

/** How the spec of an object is compared and written. By default all of it belongs to this controller. */
export interface SpecRules<T extends { readonly spec?: unknown }> {
  isSame(actual: T, desired: T): boolean;
  /** The spec to write. */
  specFor(actual: T, desired: T): T['spec'];
}

/** Compares an object. Manual edits are reverted (MCS-108). */
export function diffObject<T extends ApiObject & { readonly spec?: unknown }>(
  kind: Kind,
  desired: T | undefined,
  actual: T | undefined,
  { isSame = isSameSpec, specFor = desiredSpec }: Partial<SpecRules<T>> = {},
): Changes {
  if (desired === undefined) {
    return actual === undefined || !isOurs(actual) ? noChanges : { ...noChanges, remove: removal(kind, actual) };
  }
  if (actual === undefined) return { ...noChanges, add: [{ verb: 'create', kind, object: desired }] };
  if (!isOurs(actual)) return { ...noChanges, foreignObjects: [foreignObject(kind, actual)] };
  // An object that is being deleted is created again afterwards.
  if (isDeleting(actual) || (hasMetadata(actual, desired) && isSame(actual, desired))) return noChanges;
  const object = { ...actual, metadata: withMetadata(actual, desired), spec: specFor(actual, desired) };
  return { ...noChanges, add: [{ verb: 'update', kind, object }] };
}

const isSameSpec: SpecRules<{ readonly spec?: unknown }>['isSame'] = (actual, desired) =>
  isDeepStrictEqual(actual.spec, desired.spec);

const desiredSpec = <T extends { readonly spec?: unknown }>(_: T, { spec }: T): T['spec'] => spec;

/** Compares labels, annotations and owners, which belong to this controller; finalizers do not. */
export function hasMetadata({ metadata: actual }: ApiObject, { metadata: desired }: ApiObject): boolean {
  const { labels = {}, annotations = {}, ownerReferences = [] } = desired;
  return (
    isDeepStrictEqual(actual.labels ?? {}, labels) &&
    isDeepStrictEqual(actual.annotations ?? {}, annotations) &&
    isDeepStrictEqual(actual.ownerReferences ?? [], ownerReferences)
  );
}

/** The actual metadata with the desired labels, annotations and owners. */
export function withMetadata({ metadata: actual }: ApiObject, { metadata: desired }: ApiObject): ObjectMeta {
  const { labels: _labels, annotations: _annotations, ownerReferences: _owners, ...kept } = actual;
  return { ...kept, ...desired };
}

/** A deletion that the server rejects if the object has changed. */
export function removal(kind: Kind, object: ApiObject): readonly Write[] {
  if (isDeleting(object)) return [];
  const { uid, resourceVersion } = object.metadata;
  const preconditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return [{ verb: 'delete', kind, object, preconditions }];
}

/** Describes an object of another owner with a name that this controller needs. */
export function foreignObject(kind: Kind, object: ApiObject): ForeignObject {
  const { namespace = '', name = '', labels = {} } = object.metadata;
  const owner = Object.entries(labels).find(([label, value]) => label.endsWith('/managed-by') && value !== managedBy);
  const whose = owner === undefined ? 'was not written by this controller' : `is managed by ${owner[1]}`;
  const message = `${kind.kind} ${namespace}/${name} ${whose} and is left alone: delete it to let the service be imported`;
  return { kind, object, message };
}
