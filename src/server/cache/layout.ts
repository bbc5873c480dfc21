import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';

/**
 * How objects of a kind lie in the store and on the wire. A stored value begins with a head that is the same for the
 * whole kind and has no resourceVersion, since only the commit knows it:
 *
 *     {"kind":"Service","apiVersion":"v1","metadata":{ "name":"web", … },"spec": …}
 *     └───────────────────── head ──────────────────┘ ^ the revision is spliced in here
 *
 * So an object is serialised once, and every reader shares its bytes.
 */
export interface Layout {
  readonly head: string;
  /** What stands in place of the head in a list, where built-in kinds leave out kind and apiVersion. */
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

/** A stored value with its revision, as a client reads it; 0 for what was never stored (a dry run). */
export const withRevision = (layout: Layout, value: string, revision: number): string =>
  revision === 0 ? value : `${layout.head}"resourceVersion":"${revision}",${value.slice(layout.head.length)}`;

/** The same as an item of a list. */
export const asListItem = (layout: Layout, value: string, revision: number): string =>
  `${layout.listHead}"resourceVersion":"${revision}",${value.slice(layout.head.length)}`;
