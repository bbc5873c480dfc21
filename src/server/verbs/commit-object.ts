import { entityTooLarge } from '../../api/errors.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { QuotaExceededError, ValueTooLargeError } from '../../store/errors.ts';
import type { Commit, Write } from '../../store/store.ts';
import type { ServerContext } from '../context.ts';
import { withManagedFields } from '../patch/managed.ts';
import type { Resource } from '../resource.ts';
import { storedValue } from './stored.ts';

interface Candidate {
  readonly object: ApiObject;
  /** The object as it is stored. */
  readonly value: string;
  /** What it replaces; undefined: nothing. */
  readonly old: ApiObject | undefined;
}

interface Committed {
  readonly commit: Commit;
  /** What was written. */
  readonly value: string;
}

/**
 * Commits an object and what belongs to it. One that is too large is committed without its managers, as in Kubernetes;
 * when the quota is reached, with those of `old`, so that a write that removes something does not grow the store.
 */
export async function commitObject(
  context: ServerContext,
  resource: Resource,
  { object, value, old }: Candidate,
  writesOf: (value: string) => readonly Write[],
): Promise<Committed> {
  try {
    return { commit: await context.store.commit(writesOf(value)), value };
  } catch (error) {
    const smaller = withFewerManagers(error, object, old);
    if (smaller !== undefined) {
      const next = { object: smaller, value: storedValue(resource, smaller), old };
      return commitObject(context, resource, next, writesOf);
    }
    throw error instanceof ValueTooLargeError ? valueTooLarge(error) : error;
  }
}

/** The object to try after an error; undefined when there is none. */
function withFewerManagers(error: unknown, object: ApiObject, old: ApiObject | undefined): ApiObject | undefined {
  const { managedFields } = object.metadata;
  const isTooLarge = error instanceof ValueTooLargeError;
  if (managedFields === undefined || (!isTooLarge && !(error instanceof QuotaExceededError))) return undefined;
  const kept = isTooLarge ? undefined : old?.metadata.managedFields;
  return kept === managedFields || (!isTooLarge && old === undefined) ? undefined : withManagedFields(object, kept);
}

const valueTooLarge = ({ bytes, limit }: ValueTooLargeError): Error =>
  entityTooLarge(`the object would be stored in ${bytes} bytes, the limit is ${limit}`);
