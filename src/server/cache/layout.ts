import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';

/** Objects are stored at `/registry/[GROUP/]PLURAL/[NAMESPACE/]NAME`. */
export const registryRoot = '/registry/';

/** The key prefix of a kind: `/registry/services/`, `/registry/discovery.k8s.io/endpointslices/`. */
export const registryPrefix = ({ group, plural }: Pick<Kind, 'group' | 'plural'>): string =>
  `${registryRoot}${group === '' ? '' : `${group}/`}${plural}/`;

/** The entry of `byPrefix` for the resource of a key, whose prefix is one or two segments after the root. */
export function forRegistryKey<T>(byPrefix: ReadonlyMap<string, T>, key: string): T | undefined {
  const first = key.indexOf('/', registryRoot.length) + 1;
  return byPrefix.get(key.slice(0, first)) ?? byPrefix.get(key.slice(0, key.indexOf('/', first) + 1));
}

/**
 * The format of objects in the store and on the wire. A stored value begins with a head that is the same for the
 * whole kind. It has no resourceVersion, which only the commit decides:
 *
 *     {"kind":"Service","apiVersion":"v1","metadata":{ "name":"web", … },"spec": …}
 *     └───────────────────── head ──────────────────┘ ^ the revision is spliced in here
 *
 * An object is therefore serialised once, and all readers share its bytes.
 */
export interface Layout {
  readonly head: string;
  /** Replaces the head in lists, where built-in kinds leave out kind and apiVersion. */
  readonly listHead: string;
}

export function layoutOf(kind: Kind): Layout {
  const head = `{"kind":${JSON.stringify(kind.kind)},"apiVersion":${JSON.stringify(apiVersionOf(kind))},"metadata":{`;
  return { head, listHead: kind.custom ? head : '{"metadata":{' };
}

/** The stored form of an object. */
export function serialise(layout: Layout, object: ApiObject): string {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _resourceVersion, ...stored } = metadata;
  const content = JSON.stringify(rest);
  return `${layout.head}${JSON.stringify(stored).slice(1)}${content === '{}' ? '' : `,${content.slice(1, -1)}`}}`;
}

/** A stored value with its revision, as a client reads it; revision 0 means that it was never stored (a dry run). */
export const withRevision = (layout: Layout, value: string, revision: number): string =>
  revision === 0 ? value : `${layout.head}"resourceVersion":"${revision}",${value.slice(layout.head.length)}`;

/** The same as an item of a list. */
export const asListItem = (layout: Layout, value: string, revision: number): string =>
  `${layout.listHead}"resourceVersion":"${revision}",${value.slice(layout.head.length)}`;
