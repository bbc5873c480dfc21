// ImportedService of the first proposal of KEP-1645 (MCS-100 to MCS-106): it has only a spec.
import { protocolOf } from '../../core/service/facts.ts';
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, int32, list, listMap, oneOf, pointer, string, struct } from '../../../schema/schema.ts';
import { ipFamily, protocol, sessionAffinityConfig } from '../../core/service/schema.ts';

const group = 'io.k8s.multicluster.v1alpha1';

const importedPort = struct(`${group}.ServicePort`, 'One port of an imported service.', {
  name: pointer(1, string, 'Name of the port; required if there are several.'),
  protocol: pointer(2, protocol, 'TCP, UDP or SCTP; TCP if unset.'),
  appProtocol: pointer(3, string, 'The application protocol.'),
  port: always(4, int32, 'The port.', { required: true }),
});

const clusterSpec = struct(`${group}.ClusterSpec`, 'Settings for the endpoints of one cluster.', {
  cluster: always(1, string, 'The cluster ID, unique in the supercluster.', { required: true }),
  topologyKeys: pointer(2, list(string), 'Node labels for topology-aware routing, in order of preference.'),
  publishNotReadyAddresses: pointer(3, boolean, 'Whether to publish endpoints that are not ready.'),
  sessionAffinity: pointer(4, oneOf('None', 'ClientIP'), 'Whether connections of one client go to one endpoint.'),
  sessionAffinityConfig: pointer(5, sessionAffinityConfig, 'Settings of session affinity.'),
});

const importedService = objectSchema(
  `${group}.ImportedService`,
  'A service that clusters of the supercluster export, as imported into this cluster. Written by its controller.',
  {
    spec: pointer(
      2,
      struct(`${group}.ImportedServiceSpec`, 'The addresses and ports of an imported service.', {
        ports: pointer(1, list(importedPort), 'The ports of all exports.', { required: true }),
        clusters: pointer(
          2,
          listMap(clusterSpec, ['cluster'], { mergeKey: 'cluster' }),
          'The clusters that export it, each with its settings.',
          { required: true },
        ),
        ipFamily: pointer(3, ipFamily, 'The family of all its addresses.', { required: true }),
        ip: pointer(4, string, 'Its address in this cluster; none for a headless service.'),
      }),
      'The addresses and ports of the service.',
    ),
  },
);

export type ImportedService = Infer<typeof importedService>;
export type ImportedServiceSpec = NonNullable<ImportedService['spec']>;

export const importedServiceKind = defineKind<ImportedService>({
  group: 'multicluster.k8s.io',
  version: 'v1alpha1',
  kind: 'ImportedService',
  plural: 'importedservices',
  shortNames: ['isvc', 'importedsvc'],
  categories: ['multicluster'],
  namespaced: true,
  schema: importedService,
  custom: true,
  generation: 'content',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column('IP', 'Its address in this cluster.', ({ spec }) => spec?.ip ?? '', { path: '.spec.ip' }),
    column('Ports', 'Its ports.', portsText),
    column('Clusters', 'The clusters that export it.', ({ spec }) =>
      (spec?.clusters ?? []).map(({ cluster }) => cluster).join(','),
    ),
    customAgeColumn,
  ],
  validateCreate: specErrors,
  validateUpdate: specErrors,
});

function portsText({ spec }: ImportedService): string {
  return (spec?.ports ?? []).map((port) => `${port.port}/${protocolOf(port)}`).join(',');
}

const families = ['IPv4', 'IPv6'];

function specErrors({ spec }: ImportedService): readonly FieldError[] {
  if (spec === undefined) return [];
  const errors: FieldError[] = [];
  if (spec.ports === undefined) errors.push(required('spec.ports'));
  if (spec.clusters === undefined) errors.push(required('spec.clusters'));
  if (spec.ipFamily === undefined) errors.push(required('spec.ipFamily'));
  else if (!families.includes(spec.ipFamily)) errors.push(notSupported('spec.ipFamily', spec.ipFamily, families));
  const seen = new Set<string>();
  for (const [index, { cluster }] of (spec.clusters ?? []).entries()) {
    if (cluster === '') errors.push(required(`spec.clusters[${index}].cluster`));
    if (seen.has(cluster)) errors.push(duplicate(`spec.clusters[${index}]`, { cluster }));
    seen.add(cluster);
  }
  return errors;
}
