import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { User } from '../../../api/user.ts';
import type { Representation } from '../../verbs/representation.ts';

/** A write that is ready to be committed, as webhooks see it: the `attributes` of Kubernetes' admission. */
export interface AdmissionAttributes {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  /** In the version of the request. */
  readonly kind: Kind;
  /** The other kinds that serve the same objects; a function, since most writes match no rule. */
  readonly equivalents: () => readonly Kind[];
  readonly subresource: string;
  /** What a subresource shows instead of the object. */
  readonly representation?: Pick<Representation, 'kind' | 'of'> | undefined;
  /** The new object; undefined for a deletion. */
  readonly object: ApiObject | undefined;
  /** The existing object; undefined for a creation. */
  readonly old: ApiObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** The CreateOptions, UpdateOptions or DeleteOptions of the request. */
  readonly options: Readonly<Record<string, unknown>>;
}

/** The new object, or the existing one of a deletion. */
export const reviewedObject = ({ object, old }: AdmissionAttributes): ApiObject => object ?? old ?? { metadata: {} };

/** Converts an object to another kind through the stored one. */
export function converted(object: ApiObject, from: Kind, to: Kind): ApiObject {
  if (from === to) return object;
  const stored = from.storage === undefined ? object : from.storage.toStorage(object);
  return to.storage === undefined ? stored : to.storage.fromStorage(stored);
}
