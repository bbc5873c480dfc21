// The admission plugin DefaultIngressClass.
import type { Ingress } from '../../api/kinds/networking/ingress/schema.ts';
import { classAnnotation } from '../../api/kinds/networking/ingress/validate.ts';
import { ingressClassKind } from '../../api/kinds/networking/ingressclass/kind.ts';
import type { ApiObject, ObjectMeta } from '../../api/metadata.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { ServerContext } from '../context.ts';

/** Set to "true" on the IngressClass that new Ingresses without a class get. */
const defaultAnnotation = 'ingressclass.kubernetes.io/is-default-class';

/** Sets the default class in a new Ingress that names none. */
export function withDefaultIngressClass({ watchCache, plugins }: ServerContext, object: ApiObject): ApiObject {
  if (!plugins.has('DefaultIngressClass')) return object;
  const ingress = object as Ingress; // only called with Ingresses
  const { metadata, spec } = ingress;
  if (spec.ingressClassName !== undefined || metadata.annotations?.[classAnnotation] !== undefined) return object;
  const ingressClassName = defaultClass(watchCache);
  if (ingressClassName === undefined) return object;
  const completed: Ingress = { ...ingress, spec: { ...spec, ingressClassName } };
  return completed;
}

/** The name of the newest default class; of equally old ones the first by name. */
function defaultClass(watchCache: WatchCache): string | undefined {
  const cache = watchCache.of(ingressClassKind);
  const created = ({ creationTimestamp = '' }: ObjectMeta): string => creationTimestamp;
  return cache
    .range(cache.prefix) // in the order of names
    .map(({ object }) => object.metadata)
    .filter(({ annotations }) => annotations?.[defaultAnnotation] === 'true')
    .toSorted((a, b) => (created(a) === created(b) ? 0 : created(a) < created(b) ? 1 : -1))[0]?.name;
}
