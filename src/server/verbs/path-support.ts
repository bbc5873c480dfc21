import { subresourcesOf } from '../discovery/subresources.ts';
import type { Kind } from '../../api/kind.ts';
import type { ResourceRequest } from '../request.ts';

/** Whether a path means anything for a resource, and whether it does what is asked. */
export type PathSupport = 'absent' | 'refuses' | 'serves';

const itemVerbs: readonly string[] = ['get', 'update', 'patch', 'delete'];

/** What there is at the path of a request, for the verb that it brings. */
export function pathSupport(kind: Kind, info: ResourceRequest): PathSupport {
  const { verb, name, namespace, subresource } = info;
  if (namespace !== '' && !kind.namespaced) return 'absent';
  if (subresource !== '') return subresourceSupport(kind, info);
  // A field selector may have named the object of a list or a watch; the path is the collection's all the same.
  const isItem = name !== '' && verb !== 'list' && verb !== 'watch';
  const isEverywhere = kind.namespaced && namespace === '';
  if ((isEverywhere || !kind.stored) && isItem) return 'absent';
  if (isEverywhere && !kind.stored) return 'absent';
  if (isEverywhere && verb !== 'list' && verb !== 'watch') return 'refuses';
  const fits = isItem ? itemVerbs.includes(verb) : !itemVerbs.includes(verb);
  return fits && (kind.verbs as readonly string[]).includes(verb) ? 'serves' : 'refuses';
}

function subresourceSupport(kind: Kind, { subresource, verb, namespace }: ResourceRequest): PathSupport {
  if (kind.namespaced && namespace === '') return 'absent';
  const found = subresourcesOf(kind).find(({ name }) => name === subresource);
  if (found === undefined) return 'absent';
  return (found.verbs as readonly string[]).includes(verb) ? 'serves' : 'refuses';
}
