import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { dnsLabelErrors, subdomainName } from '../../../names.ts';
import { podColumns, podRowConditions } from './columns.ts';
import { podDefaults } from './defaults.ts';
import { qosClass } from './quality.ts';
import { podQuota } from './quota.ts';
import type { Pod } from './schema.ts';
import { pod } from './schema.ts';
import { podUpdateErrors } from './validate-update.ts';
import { podSpecErrors } from './validate.ts';

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
  deletion: { gracePeriodSeconds: podGracePeriodSeconds },
  quota: podQuota,
  applyDefaults: podDefaults,
  prepareForCreate: (object) => ({ ...object, status: { phase: 'Pending', qosClass: qosClass(object.spec) } }),
  nameErrors: subdomainName,
  validateCreate: (object) => [...specErrors(object), ...ephemeralErrors(object)],
  validateUpdate: (object, old) => [...specErrors(object), ...podUpdateErrors(object, old)],
  warnings: (object, old) => (old === undefined ? hostnameWarnings(object) : []),
  rowConditions: podRowConditions,
});

/** None for a Pod that never ran or has terminated. A later request can only shorten the period. */
function podGracePeriodSeconds({ spec, status, metadata }: Pod, requested: number | undefined): number {
  if ((spec.nodeName ?? '') === '' || status.phase === 'Succeeded' || status.phase === 'Failed') return 0;
  const seconds = requested ?? spec.terminationGracePeriodSeconds ?? 30;
  const period = seconds < 0 ? 1 : seconds;
  const { deletionTimestamp, deletionGracePeriodSeconds = period } = metadata;
  return deletionTimestamp === undefined ? period : Math.min(period, deletionGracePeriodSeconds);
}

/** Ephemeral containers are added to a Pod that runs. */
const ephemeralErrors = ({ spec: { ephemeralContainers = [] } }: Pod): readonly FieldError[] =>
  ephemeralContainers.length === 0 ? [] : [forbiddenField('spec.ephemeralContainers', 'cannot be set on create')];

const specErrors = ({ spec }: Pod): readonly FieldError[] => podSpecErrors(spec, 'spec');

function hostnameWarnings({ metadata: { name = '' } }: Pod): readonly string[] {
  const problems = dnsLabelErrors(name);
  if (problems.length === 0) return [];
  return [
    `metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [${problems.join(' ')}]`,
  ];
}
