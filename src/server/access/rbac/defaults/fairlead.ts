// The roles of our own kinds and parts. Each part has its own user with the least privileges it needs.

import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import type { RoleBinding } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../../api/kinds/rbac/role/kind.ts';
import type { PolicyRule } from '../../../../api/kinds/rbac/policy-rule.ts';
import { gatewayGroup } from '../../../../api/kinds/gateway/labels.ts';
import { partUser } from '../../identity/users.ts';
import { binding, change, inNamespace, named, on, read, role, user } from './role-table.ts';

/** The current API group and the group of ImportedServices. */
const clusterSet = 'multicluster.x-k8s.io|multicluster.k8s.io';

const events = on('|events.k8s.io', 'events', 'create patch update');
const services = on('', 'services', read);
const slices = on('discovery.k8s.io', 'endpointslices', read);
const imports = on(clusterSet, 'serviceimports importedservices', read);

/** The name of the webhook configuration that `fairlead multicluster` creates in every cluster. */
const webhook = 'fairlead-multicluster';

const readWrite = `${read} create update delete`;

/** What the multi-cluster controller does in each member of its set. */
export const memberRules: readonly PolicyRule[] = [
  on('', 'services', readWrite),
  on('', 'namespaces', read),
  // Their addresses, if other clusters reach its Services by node ports.
  on('', 'nodes', read),
  on('networking.k8s.io', 'servicecidrs', read),
  on('discovery.k8s.io', 'endpointslices', readWrite),
  on(clusterSet, 'serviceexports', `${read} update`),
  on(clusterSet, 'serviceimports importedservices', readWrite),
  on(clusterSet, 'serviceexports/status serviceimports/status', 'update'),
  on('about.k8s.io', 'clusterproperties', `${read} create delete`),
  // It warns authors of exports. `create` cannot be limited to a name; all other verbs are.
  on('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'create'),
  named(on('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'get update delete'), webhook),
  events,
];

/** Part → its rules. */
export const partRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  controllers: [
    on('', 'services pods nodes', read),
    on('', 'endpoints', readWrite),
    on('discovery.k8s.io', 'endpointslices', readWrite),
    // `blockOwnerDeletion` requires the permission to update the finalizers of the owner.
    on('', 'services/finalizers endpoints/finalizers', 'update'),
    events,
  ],
  dns: [services, slices, imports, on('', 'namespaces pods', read)],
  proxy: [services, slices, imports, on('', 'nodes', read), on('networking.k8s.io', 'servicecidrs', read), events],
  loadbalancer: [
    // It creates Services and EndpointSlices for Gateways.
    on('', 'services', `${readWrite} patch`),
    on('', 'services/status', 'patch update'),
    on('', 'nodes namespaces', read),
    on('discovery.k8s.io', 'endpointslices', readWrite),
    imports,
    on(gatewayGroup, 'gatewayclasses', `${read} create`),
    on(gatewayGroup, 'gateways tcproutes udproutes referencegrants', read),
    on(gatewayGroup, 'gatewayclasses/status gateways/status tcproutes/status udproutes/status', 'update'),
    on('loadbalancer.fairlead.dev', 'cloudloadbalancers', readWrite),
    events,
  ],
  // The credentials of members are in Secrets of one namespace: a role there grants them.
  multicluster: [
    ...memberRules,
    on('multicluster.fairlead.dev', 'clustermembers', `${read} update`),
    on('multicluster.fairlead.dev', 'clustermembers/status', 'update'),
  ],
  reaper: [
    on('', 'namespaces', 'get'),
    on('discovery.k8s.io', 'endpointslices', `${read} delete`),
    on('coordination.k8s.io', 'leases', read),
    on('about.k8s.io', 'clusterproperties', read),
    events,
  ],
  // It registers in EndpointSlices of one namespace: a role there grants that.
  gateway: [slices],
  // What the map shows and explains; no Secrets. Viewers with tokens of their own see what these may read.
  dashboard: [
    services,
    slices,
    imports,
    on(clusterSet, 'serviceexports', read),
    on('', 'namespaces nodes pods', read),
    on('networking.k8s.io', 'servicecidrs', read),
    on('coordination.k8s.io', 'leases', read),
    on('about.k8s.io', 'clusterproperties', read),
    on('|events.k8s.io', 'events', read),
  ],
  publisher: [services, slices, imports, on('', 'nodes', read), events],
};

/**
 * Garbage collection has its own role, so that it can be removed from the controllers: any object can have owners and is
 * then patched or deleted with them. The collector of Kubernetes has the same permissions.
 */
export const collectorRules: readonly PolicyRule[] = [on('*', '*', `${read} delete patch`), events];
const collectorRole = 'fairlead:garbage-collector';

/** The controllers of nodes have their own role, too: they evict Pods. */
const nodeControllerRules: readonly PolicyRule[] = [
  on('', 'nodes pods', read),
  on('', 'nodes nodes/status pods/status', 'patch'),
  on('', 'pods', 'delete'),
  on('coordination.k8s.io', 'leases', read),
  events,
];
const nodeControllerRole = 'fairlead:node-controllers';

/**
 * The controllers of workloads: Pods of any content, with any service account of their namespace. Kubernetes has its own, so
 * the chart does not grant this.
 */
const workloadControllerRules: readonly PolicyRule[] = [
  on('', 'pods', `${read} create patch delete`),
  on('', 'pods/status', 'patch'),
  on('', 'nodes replicationcontrollers', read),
  on('', 'persistentvolumeclaims', `${read} create`),
  on('', 'persistentvolumes', read),
  on('autoscaling', 'horizontalpodautoscalers', read),
  on('networking.k8s.io', 'networkpolicies', read),
  on('certificates.k8s.io', 'certificatesigningrequests', read),
  on('apps', 'deployments statefulsets daemonsets', read),
  on('apps', 'replicasets controllerrevisions', `${readWrite} patch`),
  on('batch', 'cronjobs', read),
  on('batch', 'jobs', `${read} create delete`),
  on('policy', 'poddisruptionbudgets', read),
  on('', 'replicationcontrollers/status', 'update'),
  on('apps', 'deployments/status replicasets/status statefulsets/status daemonsets/status', 'update'),
  on('batch', 'jobs/status cronjobs/status', 'update'),
  on('policy', 'poddisruptionbudgets/status', 'update'),
  // `blockOwnerDeletion` requires the permission to update the finalizers of the owner.
  on('', 'replicationcontrollers/finalizers', 'update'),
  on('apps', 'deployments/finalizers replicasets/finalizers statefulsets/finalizers daemonsets/finalizers', 'update'),
  on('batch', 'jobs/finalizers cronjobs/finalizers', 'update'),
  events,
];
const workloadControllerRole = 'fairlead:workload-controllers';

/** The scheduler assigns Pods to nodes. */
const schedulerRules: readonly PolicyRule[] = [
  on('', 'nodes namespaces pods', read),
  on('policy', 'poddisruptionbudgets', read),
  on('', 'pods', 'delete'),
  on('', 'pods/binding', 'create'),
  on('', 'pods/status', 'patch'),
  events,
];
const schedulerRole = 'fairlead:scheduler';

const roleOf = (part: string): string => `fairlead:${part}`;

export const fairleadRoles: readonly ClusterRole[] = [
  role(
    'fairlead:aggregate-to-view',
    [
      on(clusterSet, 'serviceexports serviceexports/status serviceimports serviceimports/status', read),
      on('multicluster.k8s.io', 'importedservices importedservices/status', read),
      on('about.k8s.io', 'clusterproperties', read),
      on('loadbalancer.fairlead.dev', 'cloudloadbalancers', read),
      on(gatewayGroup, 'gatewayclasses gateways tcproutes udproutes referencegrants', read),
      on('multicluster.fairlead.dev', 'clustermembers', read),
    ],
    ['view'],
  ),
  // As Services of type LoadBalancer, which editors may create, too.
  role(
    'fairlead:aggregate-to-edit',
    [on(gatewayGroup, 'gateways tcproutes udproutes referencegrants', change)],
    ['edit'],
  ),
  // Without imports on purpose, as for endpoints: they direct traffic. Exporting has its own role, so that an
  // administrator can remove it from `edit` with one label and grant it per namespace (MCS-30).
  role('fairlead:export-services', [on(clusterSet, 'serviceexports', change)], ['edit']),
  ...Object.entries(partRules).map(([part, rules]) => role(roleOf(part), rules)),
  role(collectorRole, collectorRules),
  role(nodeControllerRole, nodeControllerRules),
  role(workloadControllerRole, workloadControllerRules),
  role(schedulerRole, schedulerRules),
];

export const fairleadBindings: readonly ClusterRoleBinding[] = [
  ...Object.keys(partRules).map((part) => binding(roleOf(part), [user(partUser(part))])),
  binding(collectorRole, [user(partUser('controllers'))]),
  ...[nodeControllerRole, workloadControllerRole, schedulerRole].map((name) =>
    binding(name, [user(partUser('controllers'))]),
  ),
];

/** The namespace of the leases for leader election and liveness. */
const leaseNamespace = 'kube-system';
const leaseHolders = ['controllers', 'loadbalancer', 'multicluster', 'publisher'];

export const leaseRole: Role = inNamespace(
  leaseNamespace,
  role('fairlead:leases', [on('coordination.k8s.io', 'leases', `${read} ${change}`)]),
);

export const leaseBinding: RoleBinding = inNamespace(
  leaseNamespace,
  binding(
    'fairlead:leases',
    leaseHolders.map((part) => user(partUser(part))),
    'Role',
  ),
);
