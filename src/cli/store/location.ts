// Where a store is: `sqlite:DIR` or `etcd:URL,...`.

import { UsageError } from '../errors.ts';
import type { Flag } from '../options/flags.ts';
import { grouped } from '../options/flags.ts';
import { nonEmpty } from '../options/values.ts';
import { etcdConnectionFlags, parseEndpoint, parsePrefix } from '../up/etcd.ts';

/** A store that no server needs to serve. */
export type Location =
  /** The data directory of a server. */
  | { readonly engine: 'sqlite'; readonly directory: string }
  | { readonly engine: 'etcd'; readonly endpoints: readonly string[]; readonly prefix: string };

/** A flag whose value is a location. */
export const locationFlag = (name: string, description: string): Flag => ({
  name,
  value: 'STORE',
  description: `${description}: sqlite:DIR with a data directory, or etcd:URL,... with the prefix as path of the last URL`,
});

/** The flags for the connection to a location in etcd. */
export const locationFlags: readonly Flag[] = grouped('Flags of stores in etcd', etcdConnectionFlags);

/** Reads a location, such as `etcd:https://10.0.0.1:2379,https://10.0.0.2:2379/registry`. */
export function parseLocation(text: string): Location {
  const engine = text.slice(0, text.indexOf(':'));
  const rest = text.slice(engine.length + 1);
  if (engine === 'sqlite') return { engine, directory: nonEmpty('a directory after sqlite:')(rest) };
  if (engine !== 'etcd') throw new UsageError('expected sqlite:DIR or etcd:URL,...');
  const urls = rest.split(',');
  const last = URL.parse(urls.pop() ?? '');
  const prefix = parsePrefix(last === null || last.pathname === '/' ? '/registry' : last.pathname);
  return { engine, endpoints: [...urls, last?.origin ?? rest].map(parseEndpoint), prefix };
}

/** The name of a location for messages. */
export const nameOf = (location: Location): string =>
  location.engine === 'sqlite'
    ? `sqlite:${location.directory}`
    : `etcd:${location.endpoints.join(',')}${location.prefix}`;
