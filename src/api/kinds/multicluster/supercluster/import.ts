// ImportedService as KEP-1645 first proposed it (MCS-100 to MCS-106): everything is in the spec, there is no status.
import { protocolOf } from '../../core/service/facts.ts';
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, notSupported, required } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, int32, list, listMap, oneOf, pointer, string, struct } from '../../../schema/schema.ts';
import { ipFamily, protocol, sessionAffinityConfig } from '../../core/service/schema.ts';

const group = 'io.k8s.multicluster.v1alpha1';

const importedPort = struct(`${group}.ServicePort`, 'One port of an imported service.', {
  name: pointer(1, string, 'Name of the port; needed when there are several.'),
  protocol: pointer(2, protocol, 'TCP, UDP or SCTP; TCP when left out.'),
  appProtocol: pointer(3, string, 'The protocol that applications speak.'),
  port: always(4, int32, 'The port.', { required: true }),
});

const clusterSpec = struct(`${group}.ClusterSpec`, 'How the endpoints of one cluster are to be used.', {
  cluster: always(1, string, 'The cluster, by a name that is unique in the supercluster.', { required: true }),
  topologyKeys: pointer(2, list(string), 'Node labels by which near endpoints are preferred, in order.'),
  publishNotReadyAddresses: pointer(3, boolean, 'Whether endpoints that are not ready are published.'),
  sessionAffinity: pointer(4, oneOf('None', 'ClientIP'), 'Whether connections of one client go to one endpoint.'),
  sessionAffinityConfig: pointer(5, sessionAffinityConfig, 'Settings of session affinity.'),
});

/** A service of the supercluster, as it is used in one cluster. */
const importedService = objectSchema(
  `${group}.ImportedService`,
  'A service that clusters of the supercluster export, as it is used in this one. Written by its controller.',
  {
    spec: pointer(
      2,
      struct(`${group}.ImportedServiceSpec`, 'How an imported service is reached.', {
        ports: pointer(1, list(importedPort), 'The ports of all exports together.', { required: true }),
        clusters: pointer(
          2,
          listMap(clusterSpec, ['cluster'], { mergeKey: 'cluster' }),
          'The clusters that export it, each with its settings.',
          { required: true },
        ),
        ipFamily: pointer(3, ipFamily, 'The family of all its addresses.', { required: true }),
        ip: pointer(4, string, 'Its address in this cluster; none for a headless service.'),
      }),
      'How the service is reached.',
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
    column('IP', 'Its address in this cluster.', ({ spec }) => spec?.ip ?? ''),
    column('Ports', 'Its ports.', portsText),
    column('Clusters', 'The clusters that export it.', ({ spec }) =>
      (spec?.clusters ?? []).map(({ cluster }) => cluster).join(','),
    ),
    customAgeColumn,
  ],
  nameErrors: subdomainName,
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
