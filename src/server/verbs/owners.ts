import type { ApiObject, OwnerReference } from '../../api/metadata.ts';
import { withMetadata } from './write-request.ts';

/** An object and what its author is told. */
interface Told {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** The object with every owner named once; its author is told of repetitions. `when` is how Kubernetes dates them. */
export function withUniqueOwners(object: ApiObject, warnings: readonly string[], when = ''): Told {
  const owners = object.metadata.ownerReferences ?? [];
  // Decoding has put the fields in one order, so that equal owners have equal texts.
  const unique = new Map<string, OwnerReference>();
  const repeated: string[] = [];
  for (const owner of owners) {
    if (unique.getOrInsert(JSON.stringify(owner), owner) !== owner) repeated.push(owner.uid);
  }
  if (repeated.length === 0) return { object, warnings };
  const warning =
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may ` +
    `reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`;
  return { object: withMetadata(object, { ownerReferences: [...unique.values()] }), warnings: [...warnings, warning] };
}
