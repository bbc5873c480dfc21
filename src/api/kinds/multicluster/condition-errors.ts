import type { FieldError } from '../../field-errors.ts';
import { duplicate, notSupported, required } from '../../field-errors.ts';

interface GivenCondition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly lastTransitionTime?: string;
}

/** What is wrong with the conditions of a status; `isComplete`: the form that must give a reason and a time. */
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
