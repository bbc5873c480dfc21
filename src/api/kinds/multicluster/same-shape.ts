import type { Conversion, Kind } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';

/** The conversion between two versions of a kind that have the same fields. */
export const sameShape = <T extends ApiObject>(kind: Kind<T>): Conversion<T> => ({
  kind,
  toStorage: withoutVersion,
  // What is stored under a kind's keys has passed that kind's schema.
  fromStorage: (object) => withoutVersion(object as T),
});

// The server names the version of what it stores and shows.
function withoutVersion<T extends ApiObject>(object: T): T {
  const { apiVersion: _apiVersion, kind: _kind, ...rest } = object;
  return rest as T; // both are optional in every kind
}
