// Validates the common fields of Pods as Kubernetes does. The rules about volume sources, devices and security contexts
// are not implemented, because no part of this project runs containers.
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors, qualifiedNameErrors } from '../../../names.ts';
import { validateAnnotations, validateLabels } from '../../../validate-metadata.ts';
import type { PodSpec, PodTemplateSpec } from './schema.ts';
import { containerErrors, initContainerErrors } from './validate-container.ts';

/** Validation errors of the template of a workload at `path`. */
export const podTemplateErrors = ({ metadata, spec }: PodTemplateSpec, path: string): readonly FieldError[] => [
  ...validateLabels(`${path}.labels`, metadata.labels),
  ...validateAnnotations(`${path}.annotations`, metadata.annotations),
  ...podSpecErrors(spec, `${path}.spec`),
  ...((spec.ephemeralContainers ?? []).length === 0
    ? []
    : [forbiddenField(`${path}.spec.ephemeralContainers`, 'ephemeral containers not allowed in pod template')]),
];

/** Validation errors of a Pod's spec at `path`. */
export function podSpecErrors(spec: PodSpec, path: string): readonly FieldError[] {
  return [
    ...volumeErrors(spec, `${path}.volumes`),
    ...allContainerErrors(spec, path),
    ...wordErrors(spec.restartPolicy, `${path}.restartPolicy`, ['Always', 'OnFailure', 'Never']),
    ...wordErrors(spec.dnsPolicy, `${path}.dnsPolicy`, ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None']),
    ...validateLabels(`${path}.nodeSelector`, spec.nodeSelector),
    ...gateErrors(spec, path),
    ...nameErrors(spec.serviceAccountName, `${path}.serviceAccountName`, dnsSubdomainErrors),
    ...nameErrors(spec.nodeName, `${path}.nodeName`, dnsSubdomainErrors),
    ...deadlineErrors(spec, path),
    ...nameErrors(spec.hostname, `${path}.hostname`, dnsLabelErrors),
    ...nameErrors(spec.subdomain, `${path}.subdomain`, dnsLabelErrors),
  ];
}

const nameErrors = (
  name: string | undefined,
  path: string,
  problemsOf: (name: string) => readonly string[],
): readonly FieldError[] => (name === undefined ? [] : invalidAll(path, name, problemsOf(name)));

/** Errors of a required field that must be one of `words`. */
function wordErrors(word: string | undefined, path: string, words: readonly string[]): readonly FieldError[] {
  if (word === undefined || word === '') return [required(path)];
  return words.includes(word) ? [] : [notSupported(path, word, words)];
}

function volumeErrors({ volumes = [] }: PodSpec, path: string): readonly FieldError[] {
  const seen = new Set<string>();
  return volumes.flatMap((volume, index) => {
    const { name, ...sources } = volume;
    const errors: FieldError[] = Object.keys(sources)
      .slice(1)
      .map((source) => forbiddenField(`${path}[${index}].${source}`, 'may not specify more than 1 volume type'));
    if (name === '') errors.push(required(`${path}[${index}].name`));
    else errors.push(...nameErrors(name, `${path}[${index}].name`, dnsLabelErrors));
    if (seen.has(name)) errors.push(duplicate(`${path}[${index}].name`, name));
    seen.add(name);
    return errors;
  });
}

function allContainerErrors(spec: PodSpec, path: string): readonly FieldError[] {
  const { initContainers = [], ephemeralContainers = [] } = spec;
  const containers = spec.containers ?? [];
  if (containers.length === 0) return [required(`${path}.containers`)];
  const volumes = new Set((spec.volumes ?? []).map(({ name }) => name));
  const taken = new Set<string>();
  return Object.entries({ containers, initContainers, ephemeralContainers }).flatMap(([field, list]) =>
    list.flatMap((container, index) => {
      const at = `${path}.${field}[${index}]`;
      const isTaken = taken.has(container.name);
      taken.add(container.name);
      return [
        ...containerErrors(container, at, volumes),
        ...(isTaken ? [duplicate(`${at}.name`, container.name)] : []),
        ...(field === 'initContainers' ? initContainerErrors(container, at) : []),
      ];
    }),
  );
}

function gateErrors({ readinessGates = [], schedulingGates = [] }: PodSpec, path: string): readonly FieldError[] {
  return [
    ...readinessGates.flatMap(({ conditionType }, index) =>
      nameErrors(conditionType, `${path}.readinessGates[${index}].conditionType`, qualifiedNameErrors),
    ),
    ...schedulingGates.flatMap(({ name }, index) =>
      nameErrors(name, `${path}.schedulingGates[${index}]`, qualifiedNameErrors),
    ),
  ];
}

function deadlineErrors({ activeDeadlineSeconds: seconds }: PodSpec, path: string): readonly FieldError[] {
  if (seconds === undefined || (seconds >= 1 && seconds <= 2147483647)) return [];
  return [invalidValue(`${path}.activeDeadlineSeconds`, seconds, 'must be between 1 and 2147483647, inclusive')];
}
