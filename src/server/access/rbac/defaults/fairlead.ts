// The roles of our own kinds and parts. Each part has a user of its own with the least that its work needs.

import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import type { RoleBinding } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../../api/kinds/rbac/role/kind.ts';
import type { PolicyRule } from '../../../../api/kinds/rbac/policy-rule.ts';
import { partUser } from '../../part-user.ts';
import { binding, change, local, named, on, read, role, user } from './role-table.ts';

/** Today's group and the seed's. */
const clusterSet = 'multicluster.x-k8s.io|multicluster.k8s.io';

const events = on('|events.k8s.io', 'events', 'create patch update');
const services = on('', 'services', read);
const slices = on('discovery.k8s.io', 'endpointslices', read);
const imports = on(clusterSet, 'serviceimports importedservices', read);

/** What `fairlead multicluster` calls its configuration in every cluster. */
const webhook = 'fairlead-multicluster';

const readWrite = `${read} create update delete`;

/** Part → what it may do. */
export const partRules: Readonly<Record<string, readonly PolicyRule[]>> = {
  controllers: [
    on('', 'services pods nodes', read),
    on('', 'endpoints', readWrite),
    on('discovery.k8s.io', 'endpointslices', readWrite),
    // Who makes an object that blocks the deletion of its owner must be allowed to hold the owner up.
    on('', 'services/finalizers endpoints/finalizers', 'update'),
    events,
  ],
  dns: [services, slices, imports, on('', 'namespaces pods', read)],
  proxy: [services, slices, imports, on('', 'nodes', read), on('networking.k8s.io', 'servicecidrs', read), events],
  loadbalancer: [
    on('', 'services', `${read} patch update`),
    on('', 'services/status', 'patch update'),
    on('', 'nodes', read),
    slices,
    on('loadbalancer.fairlead.dev', 'cloudloadbalancers', readWrite),
    events,
  ],
  multicluster: [
    on('', 'services', readWrite),
    on('', 'namespaces', read),
    on('networking.k8s.io', 'servicecidrs', read),
    on('discovery.k8s.io', 'endpointslices', readWrite),
    on(clusterSet, 'serviceexports', `${read} update`),
    on(clusterSet, 'serviceimports importedservices', readWrite),
    on(clusterSet, 'serviceexports/status serviceimports/status', 'update'),
    on('about.k8s.io', 'clusterproperties', `${read} create delete`),
    // It warns the authors of exports. To make such an object is a great right; it can touch its own and no other.
    on('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'create'),
    named(on('admissionregistration.k8s.io', 'validatingwebhookconfigurations', 'get update delete'), webhook),
    events,
  ],
  reaper: [
    on('', 'namespaces', 'get'),
    on('discovery.k8s.io', 'endpointslices', `${read} delete`),
    on('coordination.k8s.io', 'leases', read),
    on('about.k8s.io', 'clusterproperties', read),
    events,
  ],
  publisher: [services, slices, imports, on('', 'nodes', read), events],
};

/**
 * Garbage collection has a role of its own, so that it can be taken from the controllers: anything can have an owner,
 * and is changed or deleted when the owner goes. Kubernetes gives its collector the same.
 */
export const collectorRules: readonly PolicyRule[] = [on('*', '*', `${read} delete patch`), events];
const collectorRole = 'fairlead:garbage-collector';

const roleOf = (part: string): string => `fairlead:${part}`;

export const fairleadRoles: readonly ClusterRole[] = [
  role(
    'fairlead:aggregate-to-view',
    [
      on(clusterSet, 'serviceexports serviceexports/status serviceimports serviceimports/status', read),
      on('multicluster.k8s.io', 'importedservices importedservices/status', read),
      on('about.k8s.io', 'clusterproperties', read),
      on('loadbalancer.fairlead.dev', 'cloudloadbalancers', read),
    ],
    ['view'],
  ),
  // Imports are missing on purpose, as endpoints are: they say where traffic goes. A role of its own, so that an
  // administrator can take exporting out of `edit` with one label and give it namespace by namespace (MCS-30).
  role('fairlead:export-services', [on(clusterSet, 'serviceexports', change)], ['edit']),
  ...Object.entries(partRules).map(([part, rules]) => role(roleOf(part), rules)),
  role(collectorRole, collectorRules),
];

export const fairleadBindings: readonly ClusterRoleBinding[] = [
  ...Object.keys(partRules).map((part) => binding(roleOf(part), [user(partUser(part))])),
  binding(collectorRole, [user(partUser('controllers'))]),
];

/** Where parts keep the leases by which they elect a leader and tell that they live. */
const leaseNamespace = 'kube-system';
const leaseHolders = ['controllers', 'loadbalancer', 'multicluster', 'publisher'];

export const leaseRole: Role = local(
  leaseNamespace,
  role('fairlead:leases', [on('coordination.k8s.io', 'leases', `${read} ${change}`)]),
);

export const leaseBinding: RoleBinding = local(
  leaseNamespace,
  binding(
    'fairlead:leases',
    leaseHolders.map((part) => user(partUser(part))),
    'Role',
  ),
);
