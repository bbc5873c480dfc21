// Every kind this server knows, in the order in which discovery lists them.
import type { Kind } from '../kind.ts';

export const kinds: readonly Kind[] = [];

const key = (group: string, version: string, plural: string): string => `${group}/${version}/${plural}`;

const byPath: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [key(kind.group, kind.version, kind.plural), kind]),
);

/** The kind served under a path such as `/apis/apps/v1/deployments`; '' is the core group. */
export const kindFor = (group: string, version: string, plural: string): Kind | undefined =>
  byPath.get(key(group, version, plural));

const byName: ReadonlyMap<string, Kind> = new Map(
  kinds.map((kind) => [key(kind.group, kind.version, kind.kind), kind]),
);

/** The kind that an object names in its `apiVersion` and `kind`. */
export const kindNamed = (group: string, version: string, name: string): Kind | undefined =>
  byName.get(key(group, version, name));
