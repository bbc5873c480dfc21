import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, list, listMap, oneOf, pointer, string, struct } from '../../../schema/schema.ts';
import { ipFamily, protocol, sessionAffinityConfig } from '../../core/service/schema.ts';
import type { McsVersion } from '../serviceexport/schema.ts';

const portOf = (group: string) =>
  struct(`${group}.ServicePort`, 'One port of an imported service.', {
    name: pointer(1, string, 'Name of the port; required if there are several.'),
    protocol: pointer(2, protocol, 'TCP, UDP or SCTP; TCP if unset.'),
    appProtocol: pointer(3, string, 'The application protocol.'),
    port: always(4, int32, 'The port.', { required: true }),
  });

const specOf = (group: string) =>
  struct(`${group}.ServiceImportSpec`, 'The addresses and ports of an imported service.', {
    ports: pointer(1, list(portOf(group)), 'The ports of all exports.', { required: true }),
    ips: pointer(2, list(string), 'Its addresses, at most one per family.'),
    type: pointer(3, oneOf('ClusterSetIP', 'Headless'), 'ClusterSetIP or Headless.', { required: true }),
    sessionAffinity: pointer(4, oneOf('None', 'ClientIP'), 'Whether connections of one client go to one backend.'),
    sessionAffinityConfig: pointer(5, sessionAffinityConfig, 'Settings of session affinity.'),
    ipFamilies: pointer(6, list(ipFamily), 'The families of its addresses.'),
    internalTrafficPolicy: pointer(7, string, 'Backends of internal traffic: Cluster or Local.'),
    trafficDistribution: pointer(8, string, 'Preferred backends.'),
  });

const statusOf = (group: string) =>
  struct(`${group}.ServiceImportStatus`, 'The sources of an imported service.', {
    endpointSliceObjects: pointer(
      1,
      oneOf('Present', 'Absent'),
      'Whether the cluster has EndpointSlices of the imported service.',
    ),
    clusters: pointer(
      2,
      listMap(
        struct(`${group}.ClusterStatus`, 'A cluster that exports the service.', {
          cluster: always(1, string, 'Name of the cluster; a DNS label.', { required: true }),
        }),
        ['cluster'],
        { mergeKey: 'cluster' },
      ),
      'The clusters that export it.',
    ),
    conditions: pointer(3, listMap(condition, ['type'], { mergeKey: 'type' }), 'Ready.'),
  });

/** The schema of a ServiceImport in one version. */
export const serviceImportSchema = (version: McsVersion) => {
  const group = `io.x-k8s.multicluster.${version}`;
  return objectSchema(
    `${group}.ServiceImport`,
    'A service that clusters of the set export, as imported into this cluster.',
    {
      spec: pointer(2, specOf(group), 'The addresses and ports of the service.'),
      status: pointer(3, statusOf(group), 'The sources of the service.'),
    },
  );
};

export type ServiceImport = Infer<ReturnType<typeof serviceImportSchema>>;
export type ServiceImportSpec = NonNullable<ServiceImport['spec']>;
