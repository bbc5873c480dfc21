// Managers of the replicas of an object, as managers of its Scale, where the field is `spec.replicas`.

import type { ManagedFieldsEntry } from '../../api/metadata.ts';
import type { Entry } from './entries.ts';
import { encode, identityOf, storedEntries } from './entries.ts';
import type { FieldSet } from './fields/set.ts';
import { difference, fieldSetOf, intersection, isEmptySet } from './fields/set.ts';

type Managers = readonly ManagedFieldsEntry[] | undefined;

const replicas = fieldSetOf(['spec', 'replicas']);
const scaleVersion = 'autoscaling/v1';

const owns =
  (field: FieldSet) =>
  ({ fieldsV1 }: Entry): boolean =>
    !isEmptySet(intersection(fieldsV1, field));

/** The managers of an object that own its replicas at `path`, as managers of its scale. */
export const managersOfScale = (managers: Managers, path: readonly string[]): Managers =>
  encode(
    storedEntries(managers)
      .filter(owns(fieldSetOf(path)))
      .map((entry) => ({ ...entry, apiVersion: scaleVersion, fieldsV1: replicas })),
  );

/** The object that has a scale. */
interface Scaled {
  readonly apiVersion: string;
  /** The path of its replicas. */
  readonly path: readonly string[];
}

/** The managers of an object after its scale got the managers `ofScale`. */
export function managersWithScale(managers: Managers, ofScale: Managers, { apiVersion, path }: Scaled): Managers {
  const field = fieldSetOf(path);
  const writers = new Map(
    storedEntries(ofScale)
      .filter(owns(replicas))
      .map((entry) => scaleEntry(entry, apiVersion, field))
      .map((entry) => [identityOf(entry), entry]),
  );
  const kept = storedEntries(managers).map((entry) =>
    !owns(field)(entry) || writers.delete(identityOf(entry))
      ? entry
      : { ...entry, fieldsV1: difference(entry.fieldsV1, field) },
  );
  return encode([...kept, ...writers.values()]);
}

/** The entry of a writer of the scale among those of the object; without a time, as in Kubernetes. */
function scaleEntry(given: Entry, apiVersion: string, field: FieldSet): Entry {
  const { time: _, ...entry } = given;
  return { ...entry, apiVersion, fieldsV1: field };
}
