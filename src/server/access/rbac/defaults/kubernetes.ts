// Kubernetes' default roles and bindings, for kinds that this server has.

import type { ClusterRole } from '../../../../api/kinds/rbac/clusterrole/kind.ts';
import type { ClusterRoleBinding } from '../../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import type { RoleBinding } from '../../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../../api/kinds/rbac/role/kind.ts';
import { rbacGroup } from '../../../../api/kinds/rbac/policy-rule.ts';
import type { PolicyRule } from '../../../../api/kinds/rbac/policy-rule.ts';
import { kubeletClientUser } from '../../identity/users.ts';
import { binding, change, aggregated, getting, group, inNamespace, named, on, read, role, user } from './role-table.ts';

const everyVerb = 'create delete deletecollection get list patch update watch';
const certificates = 'certificates.k8s.io';
const report = 'create patch update';

/**
 * What nodes may do. The node authorizer limits most of it to objects of the node; the role has no binding, as in
 * Kubernetes, so that a node has no more than that.
 */
export const nodeRules: readonly PolicyRule[] = [
  on('authentication.k8s.io', 'tokenreviews', 'create'),
  on('authorization.k8s.io', 'subjectaccessreviews localsubjectaccessreviews', 'create'),
  on('', 'services', read),
  on('', 'nodes', `create ${read}`),
  on('', 'nodes/status', 'update patch'),
  on('', 'nodes', 'update patch'),
  on('|events.k8s.io', 'events', report),
  on('', 'pods', read),
  on('', 'pods', 'create delete'),
  on('', 'pods/status', 'update patch'),
  on('', 'pods/eviction', 'create'),
  on('', 'secrets configmaps', read),
  on('', 'persistentvolumeclaims persistentvolumes', 'get'),
  on('', 'endpoints', 'get'),
  on(certificates, 'certificatesigningrequests', `create ${read}`),
  on('coordination.k8s.io', 'leases', 'get create update patch delete'),
  on('storage.k8s.io', 'volumeattachments', 'get'),
  on('', 'serviceaccounts/token', 'create'),
  on('', 'serviceaccounts', 'get'),
  on('', 'persistentvolumeclaims/status', 'get update patch'),
  on('storage.k8s.io', 'csidrivers', read),
  on('storage.k8s.io', 'csinodes', 'get create update patch delete'),
  on('node.k8s.io', 'runtimeclasses', read),
];

export const kubernetesRoles: readonly ClusterRole[] = [
  role('cluster-admin', [on('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]),
  aggregated('admin'),
  aggregated('edit', ['admin']),
  aggregated('view', ['edit']),
  role(
    'system:aggregate-to-admin',
    [
      on('authorization.k8s.io', 'localsubjectaccessreviews', 'create'),
      on('rbac.authorization.k8s.io', 'rolebindings roles', everyVerb),
    ],
    ['admin'],
  ),
  // Without Endpoints and EndpointSlices on purpose: writing them can redirect traffic across namespaces.
  role(
    'system:aggregate-to-edit',
    [
      on('', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy', read),
      on('', 'serviceaccounts', 'impersonate'),
      on('', 'pods pods/attach pods/exec pods/portforward pods/proxy', change),
      on('', 'pods/eviction', 'create'),
      on(
        '',
        'configmaps persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy',
        change,
      ),
      on('', 'serviceaccounts/token', 'create'),
      on('|events.k8s.io', 'events', change),
      on(
        'apps',
        'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale',
        change,
      ),
      on('autoscaling', 'horizontalpodautoscalers', change),
      on('batch', 'cronjobs jobs', change),
      on('policy', 'poddisruptionbudgets', change),
      on('networking.k8s.io', 'ingresses networkpolicies', change),
      on('coordination.k8s.io', 'leases', everyVerb),
    ],
    ['edit'],
  ),
  // Without Secrets and roles on purpose: read-only users must not see them.
  role(
    'system:aggregate-to-view',
    [
      on(
        '',
        'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status',
        read,
      ),
      on(
        '',
        'bindings limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status',
        read,
      ),
      on('', 'namespaces', read),
      on('|events.k8s.io', 'events', read),
      on('discovery.k8s.io', 'endpointslices', read),
      on(
        'apps',
        'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
        read,
      ),
      on('autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status', read),
      on('batch', 'cronjobs cronjobs/status jobs jobs/status', read),
      on('policy', 'poddisruptionbudgets poddisruptionbudgets/status', read),
      on('networking.k8s.io', 'ingresses ingresses/status networkpolicies', read),
    ],
    ['view'],
  ),
  // metrics-server brings this role.
  role('system:aggregated-metrics-reader', [on('metrics.k8s.io', 'pods nodes', read)], ['view', 'edit', 'admin']),
  role('system:discovery', [
    getting('/api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/'),
  ]),
  role('system:public-info-viewer', [getting('/healthz /livez /readyz /version /version/')]),
  role('system:basic-user', [
    on('authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews', 'create'),
    on('authentication.k8s.io', 'selfsubjectreviews', 'create'),
  ]),
  role('system:monitoring', [
    getting('/healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*'),
    on('', 'nodes/metrics', 'get'),
  ]),
  role('system:service-account-issuer-discovery', [
    getting('/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/'),
  ]),
  role('system:auth-delegator', [
    on('authentication.k8s.io', 'tokenreviews', 'create'),
    on('authorization.k8s.io', 'subjectaccessreviews', 'create'),
  ]),
  role('system:node', nodeRules),
  role('system:kubelet-api-admin', [
    on('', 'nodes', read),
    on('', 'nodes', 'proxy'),
    on('', 'nodes/proxy nodes/metrics nodes/stats nodes/log', '*'),
    on('', 'nodes/pods nodes/healthz nodes/configz', '*'),
  ]),
  role('system:node-bootstrapper', [on(certificates, 'certificatesigningrequests', `create ${read}`)]),
  role(`system:${certificates}:certificatesigningrequests:nodeclient`, [
    on(certificates, 'certificatesigningrequests/nodeclient', 'create'),
  ]),
  role(`system:${certificates}:certificatesigningrequests:selfnodeclient`, [
    on(certificates, 'certificatesigningrequests/selfnodeclient', 'create'),
  ]),
  ...['kubelet-serving', 'kube-apiserver-client', 'kube-apiserver-client-kubelet', 'legacy-unknown'].map((signer) =>
    role(`system:${certificates}:${signer}-approver`, [
      named(on(certificates, 'signers', 'approve'), `kubernetes.io/${signer}`),
    ]),
  ),
  role('system:kube-dns', [on('', 'endpoints services', 'list watch')]),
  role('system:node-proxier', [
    on('', 'endpoints services', 'list watch'),
    on('', 'nodes', read),
    on('|events.k8s.io', 'events', report),
    on('networking.k8s.io', 'servicecidrs', 'list watch'),
    on('discovery.k8s.io', 'endpointslices', 'list watch'),
  ]),
];

/** Aggregated API servers read there how this server authenticates users and itself. */
export const authenticationReaderRole: Role = inNamespace(
  'kube-system',
  role('extension-apiserver-authentication-reader', [
    named(on('', 'configmaps', read), 'extension-apiserver-authentication'),
  ]),
);

/** As in Kubernetes, its name is not that of the role. */
export const authenticationReaderBinding: RoleBinding = {
  ...inNamespace(
    'kube-system',
    binding('system::extension-apiserver-authentication-reader', [
      user('system:kube-controller-manager'),
      user('system:kube-scheduler'),
    ]),
  ),
  roleRef: { apiGroup: rbacGroup, kind: 'Role', name: 'extension-apiserver-authentication-reader' },
};

export const kubernetesBindings: readonly ClusterRoleBinding[] = [
  binding('cluster-admin', [group('system:masters')]),
  binding('system:basic-user', [group('system:authenticated')]),
  binding('system:discovery', [group('system:authenticated')]),
  binding('system:public-info-viewer', [group('system:authenticated'), group('system:unauthenticated')]),
  binding('system:monitoring', [group('system:monitoring')]),
  binding('system:service-account-issuer-discovery', [group('system:serviceaccounts')]),
  binding('system:kube-dns', [{ kind: 'ServiceAccount', name: 'kube-dns', namespace: 'kube-system' }]),
  binding('system:node', []),
  // kubeadm binds it to the user of its certificate, and so do we.
  binding('system:kubelet-api-admin', [user(kubeletClientUser)]),
  binding('system:node-proxier', [user('system:kube-proxy')]),
];
