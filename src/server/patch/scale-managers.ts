// Managers of a workload's replicas, as managers of its Scale. In both, the field is `spec.replicas`.

import type { ManagedFieldsEntry } from '../../api/metadata.ts';
import type { Entry } from './entries.ts';
import { encode, identityOf, storedEntries } from './entries.ts';
import { difference, fieldSetOf, intersection, isEmptySet } from './fields/set.ts';

type Managers = readonly ManagedFieldsEntry[] | undefined;

const replicas = fieldSetOf(['spec', 'replicas']);
const scaleVersion = 'autoscaling/v1';

const ownsReplicas = ({ fieldsV1 }: Entry): boolean => !isEmptySet(intersection(fieldsV1, replicas));

/** The managers of a workload that own its replicas, as managers of its scale. */
export const managersOfScale = (managers: Managers): Managers =>
  encode(
    storedEntries(managers)
      .filter(ownsReplicas)
      .map((entry) => ({ ...entry, apiVersion: scaleVersion, fieldsV1: replicas })),
  );

/** The managers of a workload after its scale got the managers `ofScale`. */
export function managersWithScale(managers: Managers, ofScale: Managers, apiVersion: string): Managers {
  const writers = new Map(
    storedEntries(ofScale)
      .filter(ownsReplicas)
      .map((entry) => scaleEntry(entry, apiVersion))
      .map((entry) => [identityOf(entry), entry]),
  );
  const kept = storedEntries(managers).map((entry) =>
    !ownsReplicas(entry) || writers.delete(identityOf(entry))
      ? entry
      : { ...entry, fieldsV1: difference(entry.fieldsV1, replicas) },
  );
  return encode([...kept, ...writers.values()]);
}

/** The entry of a writer of the scale among those of the workload; without a time, as in Kubernetes. */
function scaleEntry(given: Entry, apiVersion: string): Entry {
  const { time: _, ...entry } = given;
  return { ...entry, apiVersion, fieldsV1: replicas };
}
