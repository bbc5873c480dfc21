// DeleteOptions, the only body of a request that is not an object of a kind.
import type { Infer } from './schema/infer.ts';
import { boolean, int64, list, optional, pointer, string, struct } from './schema/schema.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const preconditions = struct(`${meta}.Preconditions`, 'Conditions that an object must meet for an operation on it.', {
  uid: pointer(1, string, 'The UID the object must have.'),
  resourceVersion: pointer(2, string, 'The revision the object must be at.'),
});

/** The body of a DELETE, in any group and version. */
export const deleteOptions = struct(`${meta}.DeleteOptions`, 'Options of a deletion.', {
  kind: optional(0, string, 'The kind of the object: DeleteOptions.'),
  apiVersion: optional(0, string, 'APIVersion defines the group and version of this kind.'),
  gracePeriodSeconds: pointer(1, int64, 'How many seconds the object may take to terminate; 0 deletes at once.'),
  preconditions: pointer(
    2,
    preconditions,
    'Conditions for the deletion. If they do not hold, the request fails with a conflict.',
  ),
  orphanDependents: pointer(3, boolean, 'Deprecated: use propagationPolicy.'),
  propagationPolicy: pointer(4, string, 'How dependents are deleted: Orphan, Background or Foreground.'),
  dryRun: optional(5, list(string), 'All: process the request without storing the result.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
    6,
    boolean,
    'Deletes an object that cannot be decrypted. One whose record is damaged is deleted without it.',
  ),
});

export type DeleteOptions = Infer<typeof deleteOptions>;
export type Preconditions = Infer<typeof preconditions>;
