// What clients send beside objects: options of a deletion. The review kinds and TokenRequest are kinds of their own.

import type { Infer } from './schema/infer.ts';
import { boolean, int64, list, optional, pointer, string, struct } from './schema/schema.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/** What must hold for a deletion to go through. */
const preconditions = struct(`${meta}.Preconditions`, 'What must hold of an object for an operation on it.', {
  uid: pointer(1, string, 'The UID the object must have.'),
  resourceVersion: pointer(2, string, 'The revision the object must be at.'),
});

/** The body of a DELETE, in any group and version. */
export const deleteOptions = struct(`${meta}.DeleteOptions`, 'How an object is to be deleted.', {
  kind: optional(0, string, 'What this object is: DeleteOptions.'),
  apiVersion: optional(0, string, 'The group and version that define this kind.'),
  gracePeriodSeconds: pointer(1, int64, 'How many seconds the object may take to terminate; 0 deletes at once.'),
  preconditions: pointer(2, preconditions, 'What must hold for the deletion; a conflict otherwise.'),
  orphanDependents: pointer(3, boolean, 'Deprecated: use propagationPolicy.'),
  propagationPolicy: pointer(4, string, 'What becomes of dependents: Orphan, Background or Foreground.'),
  dryRun: optional(5, list(string), 'All: do everything but store the result.'),
  ignoreStoreReadErrorWithClusterBreakingPotential: pointer(
    6,
    boolean,
    'Deletes an object that cannot be decrypted. One whose record is damaged is deleted without it.',
  ),
});

export type DeleteOptions = Infer<typeof deleteOptions>;
export type Preconditions = Infer<typeof preconditions>;
