import type { ApiObject } from '../api/metadata.ts';
import type { Name } from './client.ts';

/** Which object, as one text: `namespace/name`, or `name` outside namespaces. */
export type Key = string;

/** The key of an object. */
export const keyOf = ({ metadata: { namespace, name = '' } }: ApiObject): Key => keyFor({ namespace, name });

/** The key of a name. */
export const keyFor = ({ namespace = '', name }: Name): Key => (namespace === '' ? name : `${namespace}/${name}`);

/** What a key names. */
export function nameFor(key: Key): Name {
  const slash = key.indexOf('/');
  return slash < 0 ? { name: key } : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}
