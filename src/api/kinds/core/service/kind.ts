import { ageColumn, column, labelsText, nameColumn } from '../../../columns.ts';
import type { Column, Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { Service } from './schema.ts';
import { service } from './schema.ts';
import { labelName, rfc1035Name } from '../../../names.ts';
import { endpointsKind } from '../endpoints/kind.ts';
import { applyDefaults } from './defaults.ts';
import { serviceQuota } from './quota.ts';
import { validateCreate, validateUpdate, validateStatus } from './validate.ts';
import { statusWarningsFor, warningsFor } from './warnings.ts';
import { withoutUnusedPolicy, wipeTypeDependentFields, dropGatedFields } from './prepare.ts';

function externalIpText({ spec, status }: Service): string {
  const { externalIPs = [] } = spec;
  switch (spec.type) {
    case 'ExternalName':
      return spec.externalName ?? '';
    case 'LoadBalancer': {
      const entries = (status.loadBalancer.ingress ?? []).map(({ ip, hostname }) => ip || hostname || '');
      const found = [...new Set(entries)].filter((entry) => entry !== '').sort();
      return [...found, ...externalIPs].join(',') || '<pending>';
    }
    case 'ClusterIP':
    case 'NodePort':
      return externalIPs.join(',') || '<none>';
    case undefined:
      return '<unknown>';
  }
  // Unknown types can only be in data of other versions.
  return '<unknown>';
}

/** The ports of a Service: `80/TCP`, or `80:30080/TCP` with a node port. */
function portsText({ spec: { ports = [] } }: Service): string {
  const texts = ports.map(({ port, nodePort = 0, protocol = '' }) =>
    nodePort === 0 ? `${port}/${protocol}` : `${port}:${nodePort}/${protocol}`,
  );
  return texts.join(',') || '<none>';
}

const columns: readonly Column<Service>[] = [
  nameColumn,
  column<Service>('Type', 'How the Service is exposed.', ({ spec }) => spec.type ?? ''),
  column<Service>('Cluster-IP', 'The primary virtual address.', ({ spec }) => spec.clusterIPs?.[0] ?? '<none>'),
  column<Service>('External-IP', 'The external addresses.', externalIpText),
  column<Service>('Port(s)', 'The ports, with their node ports.', portsText),
  ageColumn,
  column<Service>('Selector', 'The labels of the selected Pods.', ({ spec }) => labelsText(spec.selector), {
    wide: true,
  }),
];

/** Service of core/v1. */
export const serviceKind: Kind<Service> = defineKind<Service>({
  group: '',
  version: 'v1',
  kind: 'Service',
  plural: 'services',
  shortNames: ['svc'],
  categories: ['all'],
  namespaced: true,
  schema: service,
  hasStatus: true,
  subresources: [
    { name: 'proxy', verbs: ['create', 'delete', 'get', 'patch', 'update'], connect: 'ServiceProxyOptions' },
  ],
  createOnUpdate: true,
  deleteReturns: 'object',
  columns,
  selectableFields: {
    'spec.clusterIP': ({ spec }) => spec.clusterIP ?? '',
    'spec.type': ({ spec }) => spec.type ?? '',
  },
  deletion: { cascadesTo: [endpointsKind] },
  allocates: 'clusterIpsAndNodePorts',
  quota: serviceQuota,
  applyDefaults,
  prepareForCreate: (object, context) =>
    withoutUnusedPolicy(dropGatedFields({ ...object, status: { loadBalancer: {} } }, undefined, context)),
  prepareForUpdate: (object, old, context) =>
    withoutUnusedPolicy(wipeTypeDependentFields(dropGatedFields(object, old, context), old)),
  // KEP-5311
  nameErrors: (name, isPrefix, { gates }) =>
    gates.enabled('RelaxedServiceNameValidation') ? labelName(name, isPrefix) : rfc1035Name(name, isPrefix),
  validateCreate,
  validateUpdate,
  validateStatus,
  warnings: warningsFor,
  statusWarnings: statusWarningsFor,
});
