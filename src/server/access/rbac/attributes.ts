import type { RequestInfo } from '../../request.ts';

/** What a request asks for, as access rules see it. */
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
}

/** A request for a path outside the resources. */
export interface PathAttributes {
  readonly isResource: false;
  readonly verb: string;
  readonly path: string;
}

/**
 * The attributes of a request. One for a Namespace itself is judged as one inside it, so that a RoleBinding can give
 * rights to the namespace that it is in.
 */
export function attributesOf(info: RequestInfo): Attributes {
  if (!info.isResource || info.resource !== 'namespaces' || info.name === '') return info;
  // The name that a selector gives does not make a list of namespaces a request inside one.
  return info.verb === 'list' || info.verb === 'watch' ? info : { ...info, namespace: info.name };
}
