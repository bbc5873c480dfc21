// The admission plugins DefaultIngressClass and DefaultStorageClass.
import type { PersistentVolumeClaim } from '../../api/kinds/core/pod/claim.ts';
import type { Kind } from '../../api/kind.ts';
import type { Ingress } from '../../api/kinds/networking/ingress/schema.ts';
import { classAnnotation } from '../../api/kinds/networking/ingress/validate.ts';
import { ingressClassKind } from '../../api/kinds/networking/ingressclass/kind.ts';
import { storageClassKind } from '../../api/kinds/storage/storageclass/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ServerContext } from '../context.ts';
import type { Resource } from '../resource.ts';

/** Set to "true" on the IngressClass that new Ingresses without a class get. */
const ingressAnnotations = ['ingressclass.kubernetes.io/is-default-class'];
const storageAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];
/** The class of a claim before the field existed. */
const storageClassAnnotation = 'volume.beta.kubernetes.io/storage-class';

/** An object that is written, and the one that it replaces. */
interface Change {
  readonly next: ApiObject;
  readonly old: ApiObject | undefined;
}

/** Sets the default class in a new Ingress that names none. */
export function withDefaultIngressClass(
  { watchCache, plugins }: ServerContext,
  _resource: Resource,
  { next, old }: Change,
): ApiObject {
  if (old !== undefined || !plugins.has('DefaultIngressClass')) return next;
  const ingress = next as Ingress; // only called with Ingresses
  const { metadata, spec } = ingress;
  if (spec.ingressClassName !== undefined || metadata.annotations?.[classAnnotation] !== undefined) return next;
  const ingressClassName = defaultClass(watchCache, ingressClassKind, ingressAnnotations);
  const completed: Ingress = { ...ingress, spec: { ...spec, ingressClassName: ingressClassName ?? '' } };
  return ingressClassName === undefined ? next : completed;
}

/** Sets the default class in a new claim that names none; an empty name is a choice. */
export function withDefaultStorageClass(
  { watchCache, plugins }: ServerContext,
  _resource: Resource,
  { next, old }: Change,
): ApiObject {
  if (old !== undefined || !plugins.has('DefaultStorageClass')) return next;
  const claim = next as PersistentVolumeClaim; // only called with claims
  const { metadata, spec } = claim;
  if (spec.storageClassName !== undefined || metadata.annotations?.[storageClassAnnotation] !== undefined) return next;
  const storageClassName = defaultClass(watchCache, storageClassKind, storageAnnotations);
  const completed: PersistentVolumeClaim = { ...claim, spec: { ...spec, storageClassName: storageClassName ?? '' } };
  return storageClassName === undefined ? next : completed;
}

/** The name of the newest default class; of equally old ones the first by name. */
function defaultClass(watchCache: WatchCache, kind: Kind, names: readonly string[]): string | undefined {
  const cache = watchCache.of(kind);
  const created = ({ creationTimestamp = '' }: ObjectMeta): string => creationTimestamp;
  return cache
    .range(cache.prefix) // in the order of names
    .map(({ object }) => object.metadata)
    .filter(({ annotations }) => names.some((name) => annotations?.[name] === 'true'))
    .toSorted((a, b) => (created(a) === created(b) ? 0 : created(a) < created(b) ? 1 : -1))[0]?.name;
}
