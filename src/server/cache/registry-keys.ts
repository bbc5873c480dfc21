import type { Kind } from '../../api/kind.ts';

/** Objects are stored at `/registry/[GROUP/]PLURAL/[NAMESPACE/]NAME`. */
export const registryRoot = '/registry/';

/** Where the objects of a kind are kept: `/registry/services/`, `/registry/discovery.k8s.io/endpointslices/`. */
export const registryPrefix = ({ group, plural }: Pick<Kind, 'group' | 'plural'>): string =>
  `${registryRoot}${group === '' ? '' : `${group}/`}${plural}/`;

/** What `byPrefix` has for the resource that a key belongs to: its prefix is one or two segments after the root. */
export function forRegistryKey<T>(byPrefix: ReadonlyMap<string, T>, key: string): T | undefined {
  const first = key.indexOf('/', registryRoot.length) + 1;
  return byPrefix.get(key.slice(0, first)) ?? byPrefix.get(key.slice(0, key.indexOf('/', first) + 1));
}
