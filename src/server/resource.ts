import type { Kind } from '../api/kind.ts';
import type { Subject } from '../api/errors.ts';
import type { ResourceCache } from './cache/resource-cache.ts';

/** A served kind: its definition in the requested version, and the cache of its objects. */
export interface Resource {
  readonly kind: Kind;
  readonly cache: ResourceCache;
}

/** The subject of storage errors, which name the resource. */
export const subjectOf = ({ kind }: Resource, name?: string): Subject => ({
  group: kind.group,
  resource: kind.plural,
  ...(name === undefined ? {} : { name }),
});

/** The subject of validation errors, which name the kind in its storage group. */
export const kindSubject = ({ kind }: Resource, name: string): Subject => ({
  group: (kind.storage?.kind ?? kind).group,
  resource: kind.kind,
  name,
});
