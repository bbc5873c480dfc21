// A small valid object of every kind, as a starting point for tests.

import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import { aliceRequest } from '../../api/kinds/certificates/certificatesigningrequest/testing/requests.ts';

type Content = Readonly<Record<string, unknown>>;

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'web', image: 'example.org/web:1' }] },
};
const jobTemplate = { ...template, spec: { ...template.spec, restartPolicy: 'Never' } };
const workload = { selector: { matchLabels: { app: 'web' } }, template };
const rule = { verbs: ['get'], apiGroups: [''], resources: ['services'] };
const binding = { subjects: [{ kind: 'User', name: 'alice' }] };
const event = { reason: 'Started', message: 'It started', type: 'Normal' };

/** apiVersion and kind → the other fields of the object, without a name */
const contents: Readonly<Record<string, Content>> = {
  'v1 Namespace': {},
  'v1 Service': { spec: { type: 'NodePort', ports: [{ port: 80, name: 'http' }], selector: { app: 'web' } } },
  'v1 Endpoints': { subsets: [{ addresses: [{ ip: '192.0.2.1' }], ports: [{ port: 80, name: 'http' }] }] },
  'v1 Pod': { spec: template.spec },
  'v1 Node': { spec: { podCIDR: '192.0.2.0/26', podCIDRs: ['192.0.2.0/26'] } },
  'v1 Event': { ...event, involvedObject: { kind: 'Pod', namespace: 'default', name: 'web' } },
  'v1 ConfigMap': { data: { text: 'a' }, binaryData: { bytes: 'AAEC' } },
  'v1 Secret': { type: 'Opaque', data: { password: 'c2VjcmV0' } },
  'v1 ServiceAccount': { automountServiceAccountToken: false },
  'v1 PodTemplate': { template },
  'v1 ResourceQuota': { spec: { hard: { pods: '10' } } },
  'v1 LimitRange': { spec: { limits: [{ type: 'Container', default: { cpu: '100m' } }] } },
  'apps/v1 Deployment': { spec: workload },
  'apps/v1 ReplicaSet': { spec: workload },
  'apps/v1 StatefulSet': { spec: { ...workload, serviceName: 'web' } },
  'apps/v1 DaemonSet': { spec: workload },
  'apps/v1 ControllerRevision': { data: { spec: { template } }, revision: 1 },
  'v1 PersistentVolume': {
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/data' } },
  },
  'v1 PersistentVolumeClaim': {
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  },
  'v1 ReplicationController': { spec: { template } },
  'batch/v1 Job': { spec: { template: jobTemplate } },
  'batch/v1 CronJob': { spec: { schedule: '0 3 * * *', jobTemplate: { spec: { template: jobTemplate } } } },
  'apiextensions.k8s.io/v1 CustomResourceDefinition': {
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural: 'webs', kind: 'Web' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    },
  },
  'apiregistration.k8s.io/v1 APIService': {
    spec: { group: 'example.org', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 15 },
  },
  'policy/v1 PodDisruptionBudget': { spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } } },
  'autoscaling/v2 HorizontalPodAutoscaler': {
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  },
  'events.k8s.io/v1 Event': {
    reason: 'Started',
    type: 'Normal',
    note: 'It started',
    action: 'Start',
    eventTime: '2026-01-01T00:00:00.000001Z',
    reportingController: 'example.org/controller',
    reportingInstance: 'controller-1',
    regarding: { kind: 'Pod', namespace: 'default', name: 'web' },
  },
  'coordination.k8s.io/v1 Lease': { spec: { holderIdentity: 'one', leaseDurationSeconds: 15 } },
  'discovery.k8s.io/v1 EndpointSlice': {
    addressType: 'IPv4',
    endpoints: [{ addresses: ['192.0.2.1'], conditions: { ready: true } }],
    ports: [{ port: 80, name: 'http', protocol: 'TCP' }],
  },
  'networking.k8s.io/v1 Ingress': {
    spec: {
      rules: [
        {
          host: 'web.example.org',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { number: 80 } } } }],
          },
        },
      ],
    },
  },
  'networking.k8s.io/v1 IngressClass': { spec: { controller: 'example.org/ingress' } },
  'networking.k8s.io/v1 NetworkPolicy': { spec: { podSelector: {}, ingress: [{ ports: [{ port: 80 }] }] } },
  'networking.k8s.io/v1 IPAddress': {
    spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
  },
  'networking.k8s.io/v1 ServiceCIDR': { spec: { cidrs: ['198.51.100.0/24'] } },
  'certificates.k8s.io/v1 CertificateSigningRequest': {
    spec: {
      request: Buffer.from(aliceRequest).toString('base64'),
      signerName: 'example.org/signer',
      usages: ['client auth'],
    },
  },
  'rbac.authorization.k8s.io/v1 Role': { rules: [rule] },
  'rbac.authorization.k8s.io/v1 ClusterRole': { rules: [rule] },
  'rbac.authorization.k8s.io/v1 RoleBinding': { ...binding, roleRef: { kind: 'Role', name: 'web' } },
  'rbac.authorization.k8s.io/v1 ClusterRoleBinding': { ...binding, roleRef: { kind: 'ClusterRole', name: 'web' } },
  'scheduling.k8s.io/v1 PriorityClass': { value: 1000 },
  'storage.k8s.io/v1 StorageClass': { provisioner: 'csi.example.org' },
  'node.k8s.io/v1 RuntimeClass': { handler: 'kata' },
  'admissionregistration.k8s.io/v1 MutatingWebhookConfiguration': {
    webhooks: [
      {
        name: 'never.example.org',
        clientConfig: { url: 'https://webhook.example.org/mutate', caBundle: 'AAEC' },
        rules: [{ operations: ['CONNECT'], apiGroups: ['example.org'], apiVersions: ['v1'], resources: ['nothings'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        reinvocationPolicy: 'IfNeeded',
        matchConditions: [{ name: 'never', expression: 'false' }],
      },
    ],
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy': {
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            operations: ['CREATE'],
            apiGroups: ['example.org'],
            apiVersions: ['v1'],
            resources: ['nothings'],
            resourceNames: ['a'],
          },
        ],
      },
      variables: [{ name: 'never', expression: 'false' }],
      validations: [{ expression: 'variables.never', message: 'never' }],
    },
  },
  'admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy': {
    spec: {
      matchConstraints: {
        resourceRules: [
          {
            operations: ['CREATE'],
            apiGroups: ['example.org'],
            apiVersions: ['v1'],
            resources: ['nothings'],
            resourceNames: ['a'],
          },
        ],
      },
      variables: [{ name: 'value', expression: "'1'" }],
      mutations: [
        { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{data: {"a": variables.value}}' } },
        { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/data"}]' } },
      ],
      reinvocationPolicy: 'Never',
    },
  },
  'admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding': {
    spec: { policyName: 'mutations' },
  },
  'admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding': {
    spec: { policyName: 'never', validationActions: ['Deny'] },
  },
  'admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration': {
    webhooks: [
      {
        name: 'never.example.org',
        clientConfig: { url: 'https://webhook.example.org/validate', caBundle: 'AAEC' },
        rules: [{ operations: ['CONNECT'], apiGroups: ['example.org'], apiVersions: ['v1'], resources: ['nothings'] }],
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  },
  'multicluster.x-k8s.io/v1beta1 ServiceImport': { spec: { type: 'ClusterSetIP', ports: [{ port: 80 }] } },
  'multicluster.x-k8s.io/v1alpha1 ServiceImport': { spec: { type: 'ClusterSetIP', ports: [{ port: 80 }] } },
  'about.k8s.io/v1 ClusterProperty': { spec: { value: 'east' } },
  'about.k8s.io/v1beta1 ClusterProperty': { spec: { value: 'east' } },
  'about.k8s.io/v1alpha1 ClusterProperty': { spec: { value: 'east' } },
  'multicluster.fairlead.dev/v1alpha1 ClusterMember': { spec: { secretRef: { name: 'web' } } },
  ...Object.fromEntries(
    ['v1', 'v1beta1', 'v1alpha2'].flatMap((version) => {
      const group = `gateway.networking.k8s.io/${version}`;
      const route = { spec: { rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] } };
      const listeners = [{ name: 'web', port: 80, protocol: 'TCP' }];
      const from = [{ group: 'gateway.networking.k8s.io', kind: 'TCPRoute', namespace: 'default' }];
      return [
        [`${group} GatewayClass`, { spec: { controllerName: 'example.org/gateway' } }],
        [`${group} Gateway`, { spec: { gatewayClassName: 'web', listeners } }],
        [`${group} TCPRoute`, route],
        [`${group} UDPRoute`, route],
        [`${group} ReferenceGrant`, { spec: { from, to: [{ group: '', kind: 'Service' }] } }],
      ];
    }),
  ),
  'loadbalancer.fairlead.dev/v1alpha1 CloudLoadBalancer': {
    spec: { provider: 'aws', kind: 'nlb', era: 'today', service: { namespace: 'default', name: 'web', uid: '1' } },
  },
};

/** Names that the rest of the object determines. */
const fixedNames: Readonly<Record<string, string>> = {
  IPAddress: '10.0.0.77',
  APIService: 'v1.example.org',
  CustomResourceDefinition: 'webs.example.org',
};

/** A valid object of the kind. */
export function manifestOf(
  kind: Kind,
  name = 'web',
): Record<string, unknown> & { readonly metadata: { name: string } } {
  const apiVersion = apiVersionOf(kind);
  return {
    apiVersion,
    kind: kind.kind,
    ...contents[`${apiVersion} ${kind.kind}`],
    metadata: { name: fixedNames[kind.kind] ?? name },
  };
}

/** The collection path of the kind, in the namespace `default`. */
export const collectionOf = ({ group, version, plural, namespaced }: Kind): string =>
  `${group === '' ? '/api' : `/apis/${group}`}/${version}${namespaced ? '/namespaces/default' : ''}/${plural}`;
