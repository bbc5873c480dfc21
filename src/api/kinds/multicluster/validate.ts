import type { ApiObject } from '../../metadata.ts';
import { audienceAnnotation, parseAudience } from './audience.ts';
import { lossAnnotation, lossPolicies } from './labels.ts';
import type { FieldError } from '../../field-errors.ts';
import { duplicate, notSupported, required } from '../../field-errors.ts';

interface GivenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly lastTransitionTime?: string;
}

/** Validation errors of the conditions of a status; with `isComplete` reason and time are required. */
export function conditionErrors(conditions: readonly GivenCondition[], isComplete: boolean): readonly FieldError[] {
  const types = new Set<string>();
  return conditions.flatMap(({ type, status, reason, lastTransitionTime }, index) => {
    const path = `status.conditions[${index}]`;
    const errors: FieldError[] = [];
    if (type === '') errors.push(required(`${path}.type`));
    if (types.has(type)) errors.push(duplicate(path, { type }));
    types.add(type);
    if (status === '') errors.push(required(`${path}.status`));
    else if (!words.includes(status)) errors.push(notSupported(`${path}.status`, status, words));
    if (isComplete && !reason) errors.push(required(`${path}.reason`));
    if (isComplete && !lastTransitionTime) errors.push(required(`${path}.lastTransitionTime`));
    return errors;
  });
}

const words = ['True', 'False', 'Unknown'];

/** Namespaces that many users can write to (MCS-31). */
const shared: readonly string[] = ['default', 'kube-system'];

/** Warnings about an accepted export that is probably a mistake. */
export function exportWarnings(object: ApiObject, old: ApiObject | undefined): readonly string[] {
  const { namespace = '' } = object.metadata;
  const isShared = old === undefined && shared.includes(namespace);
  const wanted = object.metadata.annotations?.[lossAnnotation];
  const audience = object.metadata.annotations?.[audienceAnnotation];
  const problem =
    audience === undefined || audience === old?.metadata.annotations?.[audienceAnnotation]
      ? undefined
      : parseAudience(audience).problem;
  const isChanged = wanted !== undefined && wanted !== old?.metadata.annotations?.[lossAnnotation];
  return [
    ...(problem === undefined
      ? []
      : [`annotation ${audienceAnnotation}: ${problem}; until then no other cluster imports the service`]),
    ...(isShared
      ? [`Services of namespace "${namespace}" should not be exported to other clusters; forbid it with RBAC`]
      : []),
    ...(isChanged && !lossPolicies.some((policy) => policy === wanted)
      ? [`annotation ${lossAnnotation}: "${wanted}" has no effect: expected ${lossPolicies.join(', ')}`]
      : []),
  ];
}
