import { condition, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  boolean,
  int32,
  int64,
  list,
  listMap,
  oneOf,
  pointer,
  setOf,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';

const group = 'dev.fairlead.multicluster.v1alpha1';

const secretReference = struct(`${group}.SecretReference`, 'A Secret of the same namespace.', {
  name: always(1, string, 'Name of the Secret.', { required: true }),
});

const spec = struct(`${group}.ClusterMemberSpec`, 'How to reach the cluster, and what it may export.', {
  secretRef: always(
    1,
    secretReference,
    'The Secret with the credentials: a kubeconfig under the key kubeconfig that contains everything itself and names no files or programs.',
    { required: true },
  ),
  context: pointer(2, string, 'Context of the kubeconfig; default: the current one.'),
  superclusterCIDRs: pointer(
    3,
    setOf(string),
    'Ranges of the addresses of imports; default: imports have the addresses of derived Services.',
  ),
  endpointCIDRs: pointer(
    4,
    setOf(string),
    'Ranges of its endpoints; others are dropped. Default: all except the ranges of others.',
  ),
  namespaces: pointer(5, setOf(string), 'Namespaces from which it may export; default: all.'),
  deniedNamespaces: pointer(6, setOf(string), 'Namespaces from which it may not export.'),
  maxExports: pointer(7, int32, 'Maximum number of exports; the oldest are accepted.'),
  maxEndpoints: pointer(8, int32, 'Maximum number of endpoints of all exports.'),
  maxEndpointsPerService: pointer(9, int32, 'Maximum number of endpoints of one export.'),
  region: pointer(10, string, 'Region of its endpoints, for Services that prefer their region.'),
  onLoss: pointer(
    11,
    oneOf('Remove', 'Demote', 'Keep'),
    'What happens to its endpoints in other clusters when it is lost: Remove, Demote or Keep; default Remove.',
  ),
  relaxedNames: pointer(
    12,
    boolean,
    'Whether its server accepts names of Services that begin with a digit; default true.',
  ),
  srvNames: pointer(13, boolean, 'Whether its server stores srvServiceName in EndpointSlices; default false.'),
  addressMode: pointer(
    16,
    oneOf('pods', 'loadbalancer', 'nodeport', 'gateway'),
    'The addresses by which other clusters reach its exports: pods, those of the load balancers or nodes with the ports there, or gateway: through the gateways of both clusters; default pods.',
  ),
  addresses: pointer(
    17,
    setOf(string),
    'Addresses in place of those of load balancers, nodes or gateways, such as behind NAT; needs addressMode loadbalancer, nodeport or gateway.',
  ),
  draining: pointer(
    15,
    boolean,
    'Whether it drains: other clusters use its endpoints only if no others are ready. `fairlead mcs drain` sets it.',
  ),
  leaving: pointer(14, boolean, 'Whether it leaves the set: its exports are withdrawn and its imports are deleted.'),
});

const status = struct(`${group}.ClusterMemberStatus`, 'The state of the cluster as the controller sees it.', {
  observedGeneration: pointer(1, int64, 'The generation that the status is about.'),
  conditions: pointer(
    2,
    listMap(condition, ['type'], { mergeKey: 'type' }),
    'Accepted, CredentialsReady, Reachable and InSync; Drained, AddressesRoutable and GatewayReachable where they apply.',
  ),
  clusterUID: pointer(3, string, 'UID of its namespace kube-system, which identifies the cluster.'),
  version: pointer(4, string, 'Version of its API server.'),
  credentialsExpireAt: pointer(5, time, 'When its token expires; absent if it does not expire.'),
  waitingServices: pointer(6, int32, 'Number of services that wait to be written to it; 0 if it is in sync.'),
  lagSeconds: pointer(9, int32, 'How long they have waited, in steps of 10 seconds; 0 if it is in sync.'),
  exportCount: pointer(7, int32, 'Number of Services that it exports.'),
  exports: pointer(8, list(string), 'The first 50 Services that it exports, as namespace/name.'),
});

export const clusterMemberSchema = objectSchema(
  `${group}.ClusterMember`,
  'A cluster whose Services are shared with the other members of the set. Its name is the ID of the cluster.',
  {
    spec: always(2, spec, 'How to reach the cluster, and what it may export.', { required: true }),
    status: pointer(3, status, 'The state of the cluster as the controller sees it.'),
  },
);

export type ClusterMember = Infer<typeof clusterMemberSchema>;
export type ClusterMemberSpec = ClusterMember['spec'];
export type ClusterMemberStatus = NonNullable<ClusterMember['status']>;
