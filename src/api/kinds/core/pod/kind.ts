import { isDeepStrictEqual } from 'node:util';

import { age, ageColumn, column, nameColumn } from '../../../columns.ts';
import type { Column, PartialWrite, RowCondition } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { evictionKind } from '../../policy/eviction/kind.ts';
import { bindingKind } from '../binding/kind.ts';
import type { Pod, PodSpec } from './schema.ts';
import { pod } from './schema.ts';
import { summarize } from './summary.ts';
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField } from '../../../field-errors.ts';
import { dnsLabelErrors } from '../../../names.ts';
import { timestamp } from '../../../timestamp.ts';
import { podDefaults } from './defaults.ts';
import { podQuota, qosClass } from './quota.ts';
import { podUpdateErrors } from './validate-update.ts';
import { ownSpecErrors } from './validate.ts';

type PodStatus = Pod['status'];

/** 0 for a Pod that never ran or has terminated. A later request can only shorten the period. */
function podGracePeriodSeconds({ spec, status, metadata }: Pod, requested: number | undefined): number {
  if ((spec.nodeName ?? '') === '' || status.phase === 'Succeeded' || status.phase === 'Failed') return 0;
  const seconds = requested ?? spec.terminationGracePeriodSeconds ?? 30;
  const period = seconds < 0 ? 1 : seconds;
  const { deletionTimestamp, deletionGracePeriodSeconds = period } = metadata;
  return deletionTimestamp === undefined ? period : Math.min(period, deletionGracePeriodSeconds);
}

/** Adds containers for debugging; existing ones cannot be changed. */
const ephemeralContainers: PartialWrite<Pod> = {
  prepare(sent, old) {
    const { ephemeralContainers: added } = sent.spec;
    const { ephemeralContainers: _replaced, ...kept } = old.spec;
    const spec = { ...kept, ...(added === undefined ? {} : { ephemeralContainers: added }) };
    return { ...old, metadata: sent.metadata, spec };
  },
  validate: (pod, old) => [...ownSpecErrors(pod.spec), ...ephemeralChangeErrors(pod, old)],
};

/** The server assigns the node, after it has checked the Binding. */
const binding: PartialWrite<Pod> = { keepsGeneration: true, prepare: (sent) => sent, validate: () => [] };

function ephemeralChangeErrors(pod: Pod, old: Pod): readonly FieldError[] {
  const byName = new Map((pod.spec.ephemeralContainers ?? []).map((container) => [container.name, container]));
  return (old.spec.ephemeralContainers ?? []).flatMap((container) => {
    const next = byName.get(container.name);
    if (next !== undefined && isDeepStrictEqual(next, container)) return [];
    const what = next === undefined ? 'removed' : 'changed';
    const detail = `existing ephemeral containers ${JSON.stringify(container.name)} may not be ${what}\n`;
    return [forbiddenField('spec.ephemeralContainers', detail)];
  });
}

/** Ephemeral containers can only be added to existing Pods. */
const ephemeralErrors = ({ spec: { ephemeralContainers = [] } }: Pod): readonly FieldError[] =>
  ephemeralContainers.length === 0 ? [] : [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')];

const specErrors = ({ spec }: Pod): readonly FieldError[] => ownSpecErrors(spec);

function hostnameWarnings({ metadata: { name = '' } }: Pod): readonly string[] {
  const problems = dnsLabelErrors(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ];
}

const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  column('Ready', 'Number of ready and of all containers.', (pod) => {
    const { ready, total } = summarize(pod);
    return `${ready}/${total}`;
  }),
  column('Status', 'Summary of the states of the containers.', (pod) => summarize(pod).status),
  column('Restarts', 'Number of container restarts, and the time since the last one.', (pod, now) => {
    const { restarts, lastRestart } = summarize(pod);
    return restarts === 0 || lastRestart === '' ? `${restarts}` : `${restarts} (${age(lastRestart, now)} ago)`;
  }),
  ageColumn,
  column('IP', 'The first address of the Pod.', ({ status }) => status.podIPs?.[0]?.ip ?? '<none>', { wide: true }),
  column('Node', 'The node of the Pod.', ({ spec }) => spec.nodeName ?? '<none>', { wide: true }),
  column(
    'Nominated Node',
    'The node on which Pods are preempted for this Pod.',
    ({ status }) => status.nominatedNodeName ?? '<none>',
    { wide: true },
  ),
  column('Readiness Gates', 'Number of true and of all readiness gates.', openGates, { wide: true }),
];

function openGates({ spec, status }: Pod): string {
  const gates = spec.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const isOpen = (type: string): boolean =>
    status.conditions?.find((condition) => condition.type === type)?.status === 'True';
  return `${gates.filter(({ conditionType }) => isOpen(conditionType)).length}/${gates.length}`;
}

/** The status of a new Pod; schedulers ignore those with gates, so the server reports why. */
function initialStatus(spec: PodSpec): PodStatus {
  const status: PodStatus = { phase: 'Pending', qosClass: qosClass(spec) };
  if ((spec.schedulingGates ?? []).length === 0) return status;
  const gated = {
    type: 'PodScheduled',
    status: 'False',
    lastProbeTime: null as unknown as string, // nothing is probed
    lastTransitionTime: timestamp(Date.now()),
    reason: 'SchedulingGated',
    message: 'Scheduling is blocked due to non-empty scheduling gates',
  };
  return { ...status, conditions: [gated] };
}

/** Marks the rows of terminated Pods. */
function podRowConditions({ status: { phase } }: Pod): readonly RowCondition[] {
  if (phase !== 'Succeeded' && phase !== 'Failed') return [];
  const message = phase === 'Succeeded' ? 'The pod has completed successfully.' : 'The pod failed.';
  return [{ type: 'Completed', status: 'True', reason: phase, message }];
}

export const podKind = defineKind<Pod>({
  group: '',
  version: 'v1',
  kind: 'Pod',
  plural: 'pods',
  shortNames: ['po'],
  categories: ['all'],
  namespaced: true,
  schema: pod,
  hasStatus: true,
  subresources: [
    { name: 'attach', verbs: ['create', 'get'], connect: 'PodAttachOptions' },
    { name: 'binding', verbs: ['create'], body: bindingKind, write: binding },
    { name: 'ephemeralcontainers', verbs: ['get', 'patch', 'update'], write: ephemeralContainers },
    { name: 'eviction', verbs: ['create'], body: evictionKind },
    { name: 'exec', verbs: ['create', 'get'], connect: 'PodExecOptions' },
    { name: 'log', verbs: ['get'], connect: 'Pod' },
    { name: 'portforward', verbs: ['create', 'get'], connect: 'PodPortForwardOptions' },
    { name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], connect: 'PodProxyOptions' },
  ],
  generation: 'spec',
  deleteReturns: 'object',
  columns: podColumns,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec.nodeName ?? '',
    'spec.host': ({ spec }) => spec.nodeName ?? '',
    'spec.restartPolicy': ({ spec }) => spec.restartPolicy ?? '',
    'spec.schedulerName': ({ spec }) => spec.schedulerName ?? '',
    'spec.serviceAccountName': ({ spec }) => spec.serviceAccountName ?? '',
    'spec.hostNetwork': ({ spec }) => String(spec.hostNetwork ?? false),
    'status.phase': ({ status }) => status.phase ?? '',
    'status.podIP': ({ status }) => status.podIP ?? '',
    'status.podIPs': ({ status }) => status.podIP ?? '',
    'status.nominatedNodeName': ({ status }) => status.nominatedNodeName ?? '',
  },
  deletion: { gracePeriodSeconds: podGracePeriodSeconds, isFirstInNamespace: true },
  quota: podQuota,
  applyDefaults: podDefaults,
  prepareForCreate: (object) => ({ ...object, status: initialStatus(object.spec) }),
  validateCreate: (object) => [...specErrors(object), ...ephemeralErrors(object)],
  validateUpdate: (object, old) => [...specErrors(object), ...podUpdateErrors(object, old)],
  warnings: (object, old) => (old === undefined ? hostnameWarnings(object) : []),
  rowConditions: podRowConditions,
});
