import { isDeepStrictEqual } from 'node:util';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue } from '../../../field-errors.ts';
import { mapField } from './defaults.ts';
import type { Container, Pod, PodSpec } from './schema.ts';

const changeable = [
  '`spec.containers[*].image`',
  '`spec.initContainers[*].image`',
  '`spec.activeDeadlineSeconds`',
  '`spec.tolerations` (only additions to existing tolerations)',
  '`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)',
].join(',');

/** Errors about changes of immutable fields of a Pod. */
export function podUpdateErrors(pod: Pod, old: Pod): readonly FieldError[] {
  const counts = countErrors(pod.spec, old.spec);
  if (counts.length > 0) return counts;
  const errors = [...deadlineErrors(pod.spec, old.spec), ...additionErrors(pod.spec, old.spec)];
  if (isDeepStrictEqual(immutablePart(pod.spec, old.spec), immutablePart(old.spec, old.spec))) return errors;
  return [...errors, forbiddenField('spec', `pod updates may not change fields other than ${changeable}`)];
}

function countErrors(spec: PodSpec, old: PodSpec): readonly FieldError[] {
  return (['containers', 'initContainers'] as const)
    .filter((field) => (spec[field]?.length ?? 0) !== (old[field]?.length ?? 0))
    .map((field) => forbiddenField(`spec.${field}`, 'pod updates may not add or remove containers'));
}

function deadlineErrors(
  { activeDeadlineSeconds: now }: PodSpec,
  { activeDeadlineSeconds: before }: PodSpec,
): readonly FieldError[] {
  const path = 'spec.activeDeadlineSeconds';
  if (before === undefined) return [];
  if (now === undefined) return [invalidValue(path, null, 'must not update from a positive integer to nil value')];
  return now > before ? [invalidValue(path, now, 'must be less than or equal to previous value')] : [];
}

function additionErrors(spec: PodSpec, old: PodSpec): readonly FieldError[] {
  const { tolerations = [], schedulingGates = [] } = spec;
  // The decoder orders fields, so equal tolerations have equal JSON.
  const kept = new Set(tolerations.map((toleration) => JSON.stringify(toleration)));
  const lost = (old.tolerations ?? []).some((toleration) => !kept.has(JSON.stringify(toleration)));
  const gates = new Set((old.schedulingGates ?? []).map(({ name }) => name));
  return [
    ...(lost
      ? [forbiddenField('spec.tolerations', 'existing toleration can not be modified except its tolerationSeconds')]
      : []),
    ...schedulingGates.flatMap(({ name }, index) =>
      gates.has(name)
        ? []
        : [
            forbiddenField(
              `spec.schedulingGates[${index}]`,
              "only deletion is allowed, but found new scheduling gate '" + name + "'",
            ),
          ],
    ),
  ];
}

/** `spec` without the mutable fields. */
function immutablePart(spec: PodSpec, old: PodSpec): PodSpec {
  const {
    activeDeadlineSeconds: _deadline,
    tolerations: _tolerations,
    schedulingGates: _gates,
    terminationGracePeriodSeconds: grace,
    ...rest
  } = spec;
  const before = old.terminationGracePeriodSeconds;
  const kept = before !== undefined && before < 0 && grace === 1 ? before : grace;
  const withoutImages = mapField(rest, 'containers', (containers) => containers.map(withoutImage));
  return {
    ...mapField(withoutImages, 'initContainers', (containers) => containers.map(withoutImage)),
    ...(kept === undefined ? {} : { terminationGracePeriodSeconds: kept }),
  };
}

function withoutImage(container: Container): Container {
  const { image: _image, ...rest } = container;
  return rest;
}
