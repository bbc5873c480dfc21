// Applies the policy of a member to a record before every merge, and reports what was dropped.
import type { Denial, ClusterExport } from '../record.ts';
import { AcceptedSlices, withAcceptedAddresses } from './addresses.ts';
import { withoutReservedKeys } from './metadata.ts';
import type { Dropped, MemberPolicy, SetRules } from './policy.ts';
import { withinServiceQuota } from './quotas.ts';

export interface GuardContext {
  /** Why the service is over the quotas of its member, from `overQuota`; undefined: it is within them. */
  readonly quotaDenial?: Denial | undefined;
  /** The cache of this member's accepted slices. */
  readonly cache?: AcceptedSlices;
  readonly rules?: SetRules;
}

export interface Guarded {
  readonly record: ClusterExport;
  readonly dropped: readonly Dropped[];
}

/** The record with only what the policy allows. A denied record loses its slices; its export reports the reason. */
export function guard(record: ClusterExport, policy: MemberPolicy, context: GuardContext = {}): Guarded {
  const { rules } = context;
  const denial = setDenial(record, rules) ?? namespaceDenial(record, policy) ?? context.quotaDenial;
  const { cluster, namespace, name } = record;
  if (denial !== undefined) {
    const dropped: Dropped = { cluster, namespace, name, what: 'export', message: denial.message };
    return { record: { ...record, slices: [], advertised: undefined, denial }, dropped: [dropped] };
  }
  const labelled = withoutReservedKeys(record);
  // A cluster uses its own Pods itself; others use what it advertises, which is checked in their place.
  const { advertised } = record;
  const reachable = withAcceptedAddresses(
    advertised === undefined ? record : { ...record, slices: advertised.slices },
    { declared: policy.endpointRanges, reserved: rules?.reserved },
    context.cache ?? new AcceptedSlices(),
  );
  const bounded = withinServiceQuota({ ...record, slices: reachable.slices }, policy.maxEndpointsPerService);
  const dropped = [...labelled.dropped, ...reachable.dropped, ...bounded.dropped];
  return dropped.length === 0
    ? { record, dropped }
    : {
        record:
          advertised === undefined
            ? { ...labelled.record, slices: bounded.slices }
            : { ...labelled.record, advertised: { ...advertised, slices: bounded.slices } },
        dropped,
      };
}

/** MCS-31: no namespace is denied by default. */
function setDenial({ namespace }: ClusterExport, rules: SetRules | undefined): Denial | undefined {
  if (rules?.deniedNamespaces.includes(namespace) !== true) return undefined;
  const message = `no cluster may export from namespace ${namespace}: it is in --deny-export-namespaces of the multi-cluster controller`;
  return { reason: 'NamespaceNotAllowed', message };
}

/** Takes the namespace of the object as read from the member, never from its content. */
function namespaceDenial(
  { cluster, namespace }: ClusterExport,
  { namespaces, deniedNamespaces = [] }: MemberPolicy,
): Denial | undefined {
  const isAllowed = namespaces === undefined || namespaces.includes(namespace);
  if (isAllowed && !deniedNamespaces.includes(namespace)) return undefined;
  const message = `cluster ${cluster} may not export from namespace ${namespace}: allow it in the policy of the cluster`;
  return { reason: 'NamespaceNotAllowed', message };
}
