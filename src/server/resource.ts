import type { Kind } from '../api/kind.ts';
import type { Subject } from '../api/errors.ts';
import type { ResourceCache } from './cache/resource-cache.ts';

/** A kind as it is served: its definition in the version asked for, and where its objects are. */
export interface Resource {
  readonly kind: Kind;
  readonly cache: ResourceCache;
}

/** How errors of the store name an object: by its resource. */
export const subjectOf = ({ kind }: Resource, name?: string): Subject => ({
  group: kind.group,
  resource: kind.plural,
  ...(name === undefined ? {} : { name }),
});

/** How errors of validation name it: by its kind, in the group that it is stored in. */
export const kindSubject = ({ kind }: Resource, name: string): Subject => ({
  group: (kind.storage?.kind ?? kind).group,
  resource: kind.kind,
  name,
});
