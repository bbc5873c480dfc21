import type { ApiObject } from '../api/metadata.ts';

/** The name of an object, with its namespace if the kind is namespaced. */
export interface Name {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** `namespace/name`, or `name` for cluster-scoped objects. */
export type Key = string;

/** The key of an object. */
export const keyOf = ({ metadata: { namespace, name = '' } }: ApiObject): Key => keyFor({ namespace, name });

/** The key of a name. */
export const keyFor = ({ namespace = '', name }: Name): Key => (namespace === '' ? name : `${namespace}/${name}`);

/** The name of an object. */
export const nameOf = ({ metadata: { namespace, name = '' } }: ApiObject): Name => ({ namespace, name });

/** The name of a key. */
export function nameFor(key: Key): Name {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
