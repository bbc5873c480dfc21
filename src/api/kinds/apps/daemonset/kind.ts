import { ageColumn, column, labelsText, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { notSupported } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { subdomainName } from '../../../names.ts';
import { amountErrors } from '../rolling-update.ts';
import {
  containerColumns,
  negativeErrors,
  selectorChangeErrors,
  selectorColumn,
  templateDefaults,
  workloadErrors,
} from '../workload.ts';
import type { DaemonSet } from './schema.ts';
import { daemonSet } from './schema.ts';

const integer = { type: 'integer' } as const;

export const daemonSetKind = defineKind<DaemonSet>({
  group: 'apps',
  version: 'v1',
  kind: 'DaemonSet',
  plural: 'daemonsets',
  shortNames: ['ds'],
  categories: ['all'],
  namespaced: true,
  schema: daemonSet,
  hasStatus: true,
  generation: 'spec',
  columns: [
    nameColumn,
    column('Desired', 'Nodes that should run a Pod.', ({ status }) => status.desiredNumberScheduled, integer),
    column('Current', 'Nodes that run a Pod and should.', ({ status }) => status.currentNumberScheduled, integer),
    column('Ready', 'Nodes whose Pod is ready.', ({ status }) => status.numberReady, integer),
    column('Up-to-date', 'Nodes whose Pod is up to date.', ({ status }) => status.updatedNumberScheduled ?? 0, integer),
    column('Available', 'Nodes whose Pod is available.', ({ status }) => status.numberAvailable ?? 0, integer),
    column('Node Selector', 'Labels of the nodes.', ({ spec }) => labelsText(spec.template.spec.nodeSelector)),
    ageColumn,
    ...containerColumns,
    selectorColumn,
  ],
  applyDefaults: ({ spec, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      template: templateDefaults(spec.template),
      updateStrategy: strategyDefaults(spec.updateStrategy),
      revisionHistoryLimit: spec.revisionHistoryLimit ?? 10,
    },
  }),
  prepareForCreate: (object) => ({ ...object, status: noNodes }),
  nameErrors: subdomainName,
  validateCreate: specErrors,
  validateUpdate: (object, old) => [...selectorChangeErrors(object, old), ...specErrors(object)],
});

const noNodes: DaemonSet['status'] = {
  currentNumberScheduled: 0,
  numberMisscheduled: 0,
  desiredNumberScheduled: 0,
  numberReady: 0,
};

type Strategy = DaemonSet['spec']['updateStrategy'];

function strategyDefaults(given: Strategy): Strategy {
  const { type = 'RollingUpdate', rollingUpdate } = given;
  if (type !== 'RollingUpdate') return { ...given, type };
  return { type, rollingUpdate: { maxUnavailable: 1, maxSurge: 0, ...rollingUpdate } };
}

function specErrors(object: DaemonSet): readonly FieldError[] {
  const { minReadySeconds, revisionHistoryLimit, updateStrategy } = object.spec;
  return [
    ...workloadErrors(object, { selectorOf: 'daemonset', templateOf: 'DaemonSet' }),
    ...negativeErrors({ 'spec.minReadySeconds': minReadySeconds }),
    ...strategyErrors(updateStrategy),
    ...negativeErrors({ 'spec.revisionHistoryLimit': revisionHistoryLimit }),
  ];
}

function strategyErrors({ type, rollingUpdate }: Strategy): readonly FieldError[] {
  if (type === 'OnDelete') return [];
  if (type !== 'RollingUpdate') return [notSupported('spec.updateStrategy', type, ['RollingUpdate', 'OnDelete'])];
  const { maxUnavailable = 0, maxSurge = 0 } = rollingUpdate ?? {};
  const path = 'spec.updateStrategy.rollingUpdate';
  return [
    ...amountErrors(`${path}.maxUnavailable`, maxUnavailable, true),
    ...amountErrors(`${path}.maxSurge`, maxSurge, true),
  ];
}
