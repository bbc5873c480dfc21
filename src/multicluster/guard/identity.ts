// Checks that each id belongs to one cluster and stays with it.
import { clusterIdErrors } from '../../api/kinds/multicluster/cluster-id.ts';
import type { MemberFacts } from '../record.ts';

/** Why a member is not accepted into the set. */
export interface IdentityProblem {
  readonly id: string;
  readonly message: string;
}

/**
 * Problems with the ids of members. `knownUids`: id → uid of kube-system when the id was first seen. An id whose cluster
 * was replaced is rejected until it has left the set: its slices would be mistaken for those of the previous cluster.
 */
export function identityProblems(
  members: readonly Pick<MemberFacts, 'id' | 'uid'>[],
  knownUids: ReadonlyMap<string, string> = new Map(),
): readonly IdentityProblem[] {
  const ids = new Map<string, number>();
  const byUid = new Map<string, string>();
  const problems: IdentityProblem[] = [];
  for (const { id } of members) ids.set(id, (ids.get(id) ?? 0) + 1);
  for (const [id, count] of ids) {
    for (const error of clusterIdErrors(id)) problems.push({ id, message: `cluster id "${id}" is invalid: ${error}` });
    if (count > 1) problems.push({ id, message: `${count} members have the id ${id}: give each its own` });
  }
  for (const { id, uid } of members) {
    if (uid === undefined) continue;
    const known = knownUids.get(id);
    if (known !== undefined && known !== uid) {
      const message = `the cluster behind id ${id} was replaced (uid of kube-system is ${uid}, was ${known}): remove ${id} from the set before it joins again`;
      problems.push({ id, message });
    }
    const twin = byUid.get(uid);
    if (twin !== undefined && twin !== id)
      problems.push({ id, message: `${twin} and ${id} are one cluster: remove one of them` });
    byUid.set(uid, id);
  }
  return problems;
}
