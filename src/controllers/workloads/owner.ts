// The controller reference of an object: which controller manages it, and who adopts or releases it.
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject, OwnerReference } from '../../api/metadata.ts';

/** The reference to the controller that manages the object. */
export const controllerOf = ({ metadata }: ApiObject): OwnerReference | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true);

/** The reference that an owner's objects have. */
export const referenceTo = (kind: Kind, { metadata: { name = '', uid = '' } }: ApiObject): OwnerReference => ({
  kind: kind.kind,
  apiVersion: apiVersionOf(kind),
  name,
  uid,
  controller: true,
  blockOwnerDeletion: true,
});

/** Index value of an object: the UID of its controller, or its namespace if it has none. */
export const controllerIndex = (object: ApiObject): readonly string[] => [
  controllerOf(object)?.uid ?? orphansOf(object.metadata.namespace),
];

/** Index value of the objects of a namespace without a controller. */
export const orphansOf = (namespace = ''): string => `orphans in ${namespace}`;

/** Which objects belong to an owner. */
export interface Claim<T> {
  /** Objects of the owner that its selector matches. */
  readonly owned: readonly T[];
  /** Orphans to add. */
  readonly adopt: readonly T[];
  /** Objects of the owner that its selector no longer matches. */
  readonly release: readonly T[];
}

/** Sorts the objects of an owner and the orphans of its namespace. An owner that is being deleted changes nothing. */
export function planClaim<T extends ApiObject>(
  owner: ApiObject,
  objects: readonly T[],
  matches: (object: T) => boolean,
): Claim<T> {
  const claim = { owned: [] as T[], adopt: [] as T[], release: [] as T[] };
  const isEnding = owner.metadata.deletionTimestamp !== undefined;
  for (const object of objects) {
    const controller = controllerOf(object);
    if (controller !== undefined) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (matches(object)) claim.owned.push(object);
      else if (!isEnding) claim.release.push(object);
    } else if (!isEnding && object.metadata.deletionTimestamp === undefined && matches(object)) {
      claim.adopt.push(object);
    }
  }
  return claim;
}
