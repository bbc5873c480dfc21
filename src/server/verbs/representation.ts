import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';

/** How a subresource shows objects: as objects of another kind, which contain a part of them. */
export interface Representation {
  readonly kind: Kind;
  /** The representation of an object. */
  of(object: ApiObject): ApiObject;
  /** The object after a change of its representation; throws if the change is invalid. */
  into(object: ApiObject, changed: ApiObject): ApiObject;
}
