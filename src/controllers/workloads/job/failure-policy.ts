// What the failure of a Pod means for its Job.
import type { Job, PodFailurePolicyRule } from '../../../api/kinds/batch/job/schema.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';

/** The action of the first rule that applies, and the message for the Job. */
export interface FailureDecision {
  readonly action: PodFailurePolicyRule['action'];
  readonly message: string;
}

/** The decision of the policy; undefined: no rule applies, so the failure counts. */
export function decideFailure({ spec }: Job, pod: Pod): FailureDecision | undefined {
  for (const [index, rule] of (spec.podFailurePolicy?.rules ?? []).entries()) {
    const why = matchOf(rule, pod);
    if (why !== undefined) {
      const message = `${why} matching ${rule.action} rule at index ${index}`;
      return { action: rule.action, message };
    }
  }
  return undefined;
}

function matchOf(
  { onExitCodes, onPodConditions }: PodFailurePolicyRule,
  { metadata, status }: Pod,
): string | undefined {
  const name = `pod ${metadata.namespace}/${metadata.name}`;
  if (onExitCodes !== undefined) {
    const { containerName, operator, values } = onExitCodes;
    const all = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
    for (const { name: container, state } of all) {
      const code = state.terminated?.exitCode;
      if (code === undefined || code === 0) continue;
      if (containerName !== undefined && containerName !== container) continue;
      if ((operator === 'In') === (values ?? []).includes(code)) {
        return `Container ${container} for ${name} failed with exit code ${code}`;
      }
    }
    return undefined;
  }
  for (const { type, status: is } of onPodConditions ?? []) {
    if (status.conditions?.some((each) => each.type === type && each.status === is)) {
      return `Pod ${metadata.namespace}/${metadata.name} has condition ${type}`;
    }
  }
  return undefined;
}
