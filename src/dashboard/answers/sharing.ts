// The state of a Service in the cluster set: why it is missing in a cluster, and the effect of an export.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { timestamp } from '../../api/timestamp.ts';
import type { Snapshot } from '../../multicluster/inspect.ts';
import {
  explain,
  explanationText,
  hiddenFrom,
  invalidReason,
  planChange,
  planText,
  why,
} from '../../multicluster/inspect.ts';
import type { Viewer } from '../server/viewer.ts';
import type { ExportPlanText, Sharing } from '../view/details.ts';
import type { ClusterSet } from './cluster-set.ts';
import { AnswerError } from './errors.ts';

/** Why a Service is, or is not, available in a cluster. */
export function sharingOf(key: string, cluster: string, set: ClusterSet): Promise<Sharing> {
  return set.snapshot((snapshot) => {
    const member = memberOf(snapshot, cluster);
    const merged = snapshot.merged(key);
    const { steps } = why({
      merged: snapshot.mergedFor(key, member),
      hidden: hiddenFrom(merged, member.facts()),
      api: merged.exporters.some(({ record }) => record.superclusterExport !== undefined)
        ? 'supercluster'
        : 'clusterset',
      from: member.facts(),
      members: snapshot.members.map((each) => each.facts()),
      ...snapshot.desired(key, member),
      leases: snapshot.leaseStates(member),
      dns: undefined,
    });
    const unread = snapshot.problems();
    return {
      steps: steps.filter(({ step }) => step !== 'dns'),
      explanation: [explanationText(explain(merged, snapshot.groups(key)), unread.length > 0), ...unread].join('\n'),
    };
  });
}

/** The consequences if a cluster exported a Service, or no longer did. Nothing is written. */
export function exportPlan(
  key: string,
  change: { readonly verb: 'export' | 'unexport'; readonly cluster: string; readonly service?: Service | undefined },
  set: ClusterSet,
): Promise<ExportPlanText> {
  return set.snapshot((snapshot) => {
    const { conflictPolicy, members, rules } = snapshot;
    const member = memberOf(snapshot, change.cluster);
    const problem = snapshot.problemOf(member);
    if (problem !== undefined) throw new AnswerError(503, `cannot plan an export: ${problem}`);
    const source = { merged: snapshot.merged(key), members, conflictPolicy, rules, now: timestamp(Date.now()) };
    const planned = planChange(key, { verb: change.verb, member, service: change.service }, source);
    return {
      text: [planText(planned), ...snapshot.problems()].join('\n'),
      hasConflicts: planned.newConflicts.length > 0 || invalidReason(planned) !== undefined,
    };
  });
}

function memberOf(snapshot: Snapshot, cluster: string) {
  const member = snapshot.member(cluster);
  if (member === undefined) throw new AnswerError(404, `there is no cluster "${cluster}" in the set`);
  return member;
}

/** Both read all clusters of the set: a viewer needs the rights of what is shown in each of them. */
export function requireRightsInAll(key: string, set: ClusterSet, viewer: Viewer): void {
  const [namespace = ''] = key.split('/');
  for (const cluster of set.sources.keys()) {
    const { services, serviceexports, serviceimports, endpointslices } = viewer.rightsIn(cluster, namespace);
    if (services && serviceexports && serviceimports && endpointslices) continue;
    throw new AnswerError(
      403,
      `you may not list Services, exports, imports and EndpointSlices in namespace ${namespace} of cluster ${cluster}`,
    );
  }
}
