// What all kinds with a selector and a Pod template have in common.
import { isDeepStrictEqual } from 'node:util';
import { column } from '../../columns.ts';
import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, invalidValue, notSupported, required } from '../../field-errors.ts';
import type { Column } from '../../kind.ts';
import type { ApiObject } from '../../metadata.ts';
import { dnsLabelErrors } from '../../names.ts';
import { matchesLabels } from '../../selectors/labels.ts';
import { podSpecDefaults } from '../core/pod/defaults.ts';
import type { PodTemplateSpec } from '../core/pod/schema.ts';
import { podTemplateErrors } from '../core/pod/validate.ts';
import type { LabelSelector } from './selector.ts';
import { requirementsOf, selectorText } from './selector.ts';
import { labelSelectorErrors } from './validate-selector.ts';

/** The part of a workload's spec that says which Pods are its own and how they look. */
export interface WorkloadSpec {
  readonly selector?: LabelSelector;
  readonly template: PodTemplateSpec;
}

export interface Workload extends ApiObject {
  readonly spec: WorkloadSpec;
}

/** A template with its Pod spec filled in. */
export const templateDefaults = (template: PodTemplateSpec): PodTemplateSpec => ({
  ...template,
  spec: podSpecDefaults(template.spec),
});

/** How a kind's messages name it. */
export interface WorkloadNames {
  /** In "empty selector is invalid for …". */
  readonly selectorOf: string;
  /** In "activeDeadlineSeconds in … is not Supported". */
  readonly templateOf: string;
}

/** Everything wrong with the selector and the template of a workload. */
export function workloadErrors({ spec }: Workload, names: WorkloadNames): readonly FieldError[] {
  return [...selectorErrors(spec, names), ...matchErrors(spec), ...templateErrors(spec, names)];
}

function selectorErrors({ selector }: WorkloadSpec, { selectorOf }: WorkloadNames): readonly FieldError[] {
  if (selector === undefined) return [required('spec.selector')];
  const { matchLabels = {}, matchExpressions = [] } = selector;
  const errors = [...labelSelectorErrors('spec.selector', selector)];
  if (requirementsOf(selector) === undefined) {
    errors.push(invalidValue('spec.selector', selector, 'invalid label selector'));
  }
  if (Object.keys(matchLabels).length + matchExpressions.length === 0) {
    errors.push(invalidValue('spec.selector', selector, `empty selector is invalid for ${selectorOf}`));
  }
  return errors;
}

// A workload without a selector selects nothing, so that its template never matches either.
function matchErrors({ selector, template }: WorkloadSpec): readonly FieldError[] {
  const requirements = selector && requirementsOf(selector);
  const { labels } = template.metadata;
  if (requirements !== undefined && matchesLabels(requirements, labels)) return [];
  if (selector !== undefined && requirements === undefined) return []; // the operator is what is wrong
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

/** Warns of a name that is no host name, though Pods are named after it. */
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

/** The wide columns of a workload: containers and images. */
export const containerColumns: readonly Column<Workload>[] = [
  column('Containers', 'Names of the containers.', ({ spec }) => listed(spec, ({ name }) => name), { wide: true }),
  column('Images', 'Images of the containers.', ({ spec }) => listed(spec, ({ image }) => image ?? ''), { wide: true }),
];

/** The wide column that shows a workload's selector. */
export const selectorColumn: Column<Workload> = column(
  'Selector',
  'Labels of the Pods.',
  ({ spec }) => selectorText(spec.selector),
  { wide: true },
);

type TemplateContainer = NonNullable<PodTemplateSpec['spec']['containers']>[number];

const listed = ({ template }: WorkloadSpec, text: (container: TemplateContainer) => string): string =>
  (template.spec.containers ?? []).map(text).join(',');
