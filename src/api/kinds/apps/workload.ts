// Schema parts, defaults, validation and columns that the workload kinds share.
import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../field-errors.ts';
import { invalidValue, forbiddenField, notSupported, required } from '../../field-errors.ts';
import { always, listMap, optional, string, struct, time } from '../../schema/schema.ts';
import { column } from '../../columns.ts';
import type { Column } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { dnsLabelErrors } from '../../names.ts';
import { matchesLabels } from '../../selectors/labels.ts';
import { podSpecDefaults } from '../core/pod/defaults.ts';
import type { PodTemplateSpec } from '../core/pod/schema.ts';
import { podTemplateErrors } from '../core/pod/validate.ts';
import type { LabelSelector } from '../../selectors/label-selector.ts';
import { requirementsOf, selectorText, labelSelectorErrors } from '../../selectors/label-selector.ts';

/** The fields that the spec of every workload kind has. */
export interface WorkloadSpec {
  readonly selector?: LabelSelector;
  readonly template: PodTemplateSpec;
}

export interface Workload extends ApiObject {
  readonly spec: WorkloadSpec;
}

/** Sets the defaults of a Pod template. */
export const templateDefaults = (template: PodTemplateSpec): PodTemplateSpec => ({
  ...template,
  spec: podSpecDefaults(template.spec),
});

/** The names of a kind in Kubernetes' messages. Only the messages of DaemonSets omit errors of the whole selector. */
export interface WorkloadNames {
  /** In "empty selector is invalid for …". */
  readonly selectorOf: 'daemonset' | 'deployment' | 'statefulset';
  /** In "activeDeadlineSeconds in … is not Supported". */
  readonly templateOf: string;
}

/** The selector of a workload in its scale; empty for none. */
export const workloadSelector = ({ spec: { selector } }: Workload): string =>
  selector === undefined || requirementsOf(selector)?.length === 0 ? '' : selectorText(selector);

/** Validation errors of the selector and the template of a workload. */
export function workloadErrors({ spec }: Workload, names: WorkloadNames): readonly FieldError[] {
  return [...selectorErrors(spec, names), ...matchErrors(spec), ...templateErrors(spec, names)];
}

function selectorErrors({ selector }: WorkloadSpec, { selectorOf }: WorkloadNames): readonly FieldError[] {
  if (selector === undefined) return selectorOf === 'daemonset' ? [] : [required('spec.selector')];
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const errors = [...labelSelectorErrors('spec.selector', selector)];
  if (errors.length > 0 && selectorOf !== 'daemonset') {
    errors.push(invalidValue('spec.selector', selector, selectorOf === 'statefulset' ? '' : 'invalid label selector'));
  }
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    errors.push(invalidValue('spec.selector', selector, `empty selector is invalid for ${selectorOf}`));
  }
  return errors;
}

// A workload without a selector selects nothing, so its template never matches.
function matchErrors({ selector, template }: WorkloadSpec): readonly FieldError[] {
  const requirements = selector && requirementsOf(selector);
  const { labels } = template.metadata;
  if (requirements !== undefined && matchesLabels(requirements, labels)) return [];
  if (selector !== undefined && labelSelectorErrors('', selector).length > 0) return []; // these are already reported
  return [invalidValue('spec.template.metadata.labels', labels ?? null, '`selector` does not match template `labels`')];
}

function templateErrors({ template }: WorkloadSpec, { templateOf }: WorkloadNames): readonly FieldError[] {
  const { restartPolicy, activeDeadlineSeconds } = template.spec;
  return [
    ...podTemplateErrors(template, 'spec.template'),
    ...(restartPolicy === 'Always'
      ? []
      : [notSupported('spec.template.spec.restartPolicy', restartPolicy, ['Always'])]),
    ...(activeDeadlineSeconds === undefined
      ? []
      : [
          forbiddenField(
            'spec.template.spec.activeDeadlineSeconds',
            `activeDeadlineSeconds in ${templateOf} is not Supported`,
          ),
        ]),
  ];
}

/** The error of an update that changes the selector. */
export function selectorChangeErrors({ spec }: Workload, { spec: old }: Workload): readonly FieldError[] {
  return isDeepStrictEqual(spec.selector, old.selector)
    ? []
    : [invalidValue('spec.selector', spec.selector ?? null, 'field is immutable')];
}

/** Warns about a name that is not a valid hostname, since Pod names derive from it. */
export function podNameWarnings({ metadata: { name = '' } }: ApiObject): readonly string[] {
  const problems = dnsLabelErrors(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ];
}

/** The errors of numbers that must not be negative, by their path. */
export function negativeErrors(numbers: Readonly<Record<string, number | undefined>>): readonly FieldError[] {
  return Object.entries(numbers)
    .filter(([, value]) => (value ?? 0) < 0)
    .map(([path, value]) => invalidValue(path, value, 'must be greater than or equal to 0'));
}

/** The column of ready and desired Pods. */
export const readyColumn: Column<
  ApiObject & { readonly spec: { readonly replicas?: number }; readonly status: { readonly readyReplicas?: number } }
> = column(
  'Ready',
  'Number of ready and of desired Pods.',
  ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
);

/** The wide columns of objects with a Pod template: containers and images. */
export function templateColumns<T extends ApiObject>(
  templateOf: (object: T) => PodTemplateSpec | undefined,
): readonly Column<T>[] {
  const listed = (object: T, text: (container: TemplateContainer) => string): string =>
    (templateOf(object)?.spec.containers ?? []).map(text).join(',');
  return [
    column('Containers', 'Names of the containers.', (object) => listed(object, ({ name }) => name), { wide: true }),
    column('Images', 'Images of the containers.', (object) => listed(object, ({ image }) => image ?? ''), {
      wide: true,
    }),
  ];
}

/** The wide columns of a workload: containers and images. */
export const containerColumns = templateColumns<Workload>(({ spec }) => spec.template);

/** The wide column with the selector of a workload. */
export const selectorColumn: Column<Workload> = column(
  'Selector',
  'Labels of the Pods.',
  ({ spec }) => selectorText(spec.selector),
  { wide: true },
);

type TemplateContainer = NonNullable<PodTemplateSpec['spec']['containers']>[number];

/**
 * The conditions of DaemonSets, ReplicaSets, StatefulSets and ReplicationControllers. Conditions of a Deployment have one
 * more field.
 */
export const workloadConditions = (
  number: number,
  kind: 'DaemonSet' | 'ReplicaSet' | 'StatefulSet' | 'ReplicationController',
  group: 'apps' | 'core' = 'apps',
) => optional(number, listMap(conditionOf(kind, group), ['type'], { mergeKey: 'type' }), `State of the ${kind}.`);

const conditionOf = (kind: string, group: string) =>
  struct(`io.k8s.api.${group}.v1.${kind}Condition`, `One aspect of a ${kind}’s state.`, {
    type: always(1, string, 'Type of the condition.', { required: true }),
    status: always(2, string, 'True, False or Unknown.', { required: true }),
    lastTransitionTime: always(3, time, 'When the status last changed.'),
    reason: optional(4, string, 'Reason, as one CamelCase word.'),
    message: optional(5, string, 'Human-readable message.'),
  });

const badPercent =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

const percentOf = (amount: number | string): number | undefined =>
  typeof amount === 'string' && /^[0-9]+%$/.test(amount) ? Number.parseInt(amount, 10) : undefined;

/** The number in maxUnavailable or maxSurge: of Pods, or per cent. */
export const amountOf = (amount: number | string): number =>
  typeof amount === 'number' ? amount : (percentOf(amount) ?? 0);

/** Validation errors of maxUnavailable or maxSurge; `isAtMostAll`: at most 100%. */
export function amountErrors(path: string, amount: number | string, isAtMostAll: boolean): readonly FieldError[] {
  if (typeof amount === 'number') {
    return amount < 0 ? [invalidValue(path, amount, 'must be greater than or equal to 0')] : [];
  }
  const percent = percentOf(amount);
  if (percent === undefined) return [invalidValue(path, amount, badPercent)];
  return isAtMostAll && percent > 100 ? [invalidValue(path, amount, 'must not be greater than 100%')] : [];
}
