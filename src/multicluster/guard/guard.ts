// A record as it was read → as it may count, and what was dropped on the way. Runs before every merge.
import type { Denial, ExportRecord } from '../record.ts';
import { textOf } from '../record.ts';
import { AcceptedSlices, withAcceptedAddresses } from './addresses.ts';
import { withoutReservedKeys } from './metadata.ts';
import type { Dropped, MemberPolicy, SetRules } from './policy.ts';
import { withinServiceQuota } from './quotas.ts';

/** What else the guard looks at. */
export interface GuardContext {
  /** Why the service is beyond the quotas of its member, from `overQuota`; undefined: it is within. */
  readonly quotaDenial?: Denial | undefined;
  /** The clusters that the service had when it was merged last. */
  readonly incumbents?: readonly string[];
  /** What was looked at before, for this member. */
  readonly memory?: AcceptedSlices;
  readonly rules?: SetRules;
}

export interface Guarded {
  readonly record: ExportRecord;
  readonly dropped: readonly Dropped[];
}

/** The record as it may count. One that is denied stays, without its slices: its export is told why. */
export function guard(record: ExportRecord, policy: MemberPolicy, context: GuardContext = {}): Guarded {
  const { rules } = context;
  const denial =
    setDenial(record, rules) ??
    namespaceDenial(record, policy) ??
    context.quotaDenial ??
    approvalDenial(record, policy, context);
  const { cluster, namespace, name } = record;
  if (denial !== undefined) {
    const dropped: Dropped = { cluster, namespace, name, what: 'export', message: denial.message };
    return { record: { ...record, slices: [], denial }, dropped: [dropped] };
  }
  const labelled = withoutReservedKeys(record);
  const reachable = withAcceptedAddresses(
    record,
    { declared: policy.endpointRanges, taken: rules?.taken },
    context.memory ?? new AcceptedSlices(),
  );
  const bounded = withinServiceQuota({ ...record, slices: reachable.slices }, policy.maxEndpointsPerService);
  const dropped = [...labelled.dropped, ...reachable.dropped, ...bounded.dropped];
  return dropped.length === 0
    ? { record, dropped }
    : { record: { ...labelled.record, slices: bounded.slices }, dropped };
}

/** MCS-31: nothing is denied unless an administrator of the set says so. */
function setDenial({ namespace }: ExportRecord, rules: SetRules | undefined): Denial | undefined {
  if (rules?.deniedNamespaces.includes(namespace) !== true) return undefined;
  const message = `no cluster may export from namespace ${namespace}: it is in --deny-export-namespaces of the multi-cluster controller`;
  return { reason: 'NamespaceNotAllowed', message };
}

/** T2, T4. The namespace is that of the object, on the connection it was read over. */
function namespaceDenial(
  { cluster, namespace }: ExportRecord,
  { namespaces, deniedNamespaces = [] }: MemberPolicy,
): Denial | undefined {
  const isAllowed = namespaces === undefined || namespaces.includes(namespace);
  if (isAllowed && !deniedNamespaces.includes(namespace)) return undefined;
  const message = `cluster ${cluster} may not export from namespace ${namespace}: allow it in the policy of the cluster`;
  return { reason: 'NamespaceNotAllowed', message };
}

/** T2: joining a name that is established needs leave; being the first does not. */
function approvalDenial(
  record: ExportRecord,
  { joinsOnly }: MemberPolicy,
  { incumbents = [] }: GuardContext,
): Denial | undefined {
  const isEstablished = incumbents.length > 0 && !incumbents.includes(record.cluster);
  if (!isEstablished || joinsOnly === undefined || joinsOnly(record)) return undefined;
  const message = `${textOf(record)} is exported by ${incumbents.join(', ')} already: approve cluster ${record.cluster} to let it join`;
  return { reason: 'NotApproved', message };
}
