import type { RequestInfo } from '../../request.ts';

/** The attributes of a request that rules match. */
export type Attributes = ResourceAttributes | PathAttributes;

/** A request for a resource. */
export interface ResourceAttributes {
  readonly isResource: true;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** '' for cluster-scoped objects and for all namespaces. */
  readonly namespace: string;
  /** '' for all objects. */
  readonly name: string;
  /** The parameters, whose `fieldSelector` limits what a list or watch returns. */
  readonly query?: URLSearchParams;
}

/** A request for a non-resource path. */
export interface PathAttributes {
  readonly isResource: false;
  readonly verb: string;
  readonly path: string;
}

/**
 * The attributes of a request. A request for a Namespace counts as one inside it, so that a RoleBinding can grant
 * permissions on its own namespace.
 */
export function attributesOf(info: RequestInfo): Attributes {
  if (!info.isResource || info.resource !== 'namespaces' || info.name === '') return info;
  // A list with a name in its field selector is still cluster-scoped.
  return info.verb === 'list' || info.verb === 'watch' ? info : { ...info, namespace: info.name };
}
