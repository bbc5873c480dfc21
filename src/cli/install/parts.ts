// The manifests of each part. They are the source of the Helm chart and of `fairlead install`.
import { gatewayService, peerPort } from '../../api/kinds/multicluster/gateway.ts';
import type { PolicyRule } from '../../api/kinds/rbac/policy-rule.ts';
import { collectorRules, partRules } from '../../server/access/rbac/defaults/fairlead.ts';
import type { Manifest } from './manifest.ts';
import { accountManifest, grantManifests, labelled, labelsOf, selectorOf } from './manifest.ts';
import type { ValueSource } from './source.ts';
import type { InstalledPart } from './values.ts';
import { tlsDirectory, workloads } from './workloads.ts';

/** A manifest, and the values that must be true for it. */
export interface PartManifest {
  readonly manifest: Manifest;
  readonly when: readonly (readonly [section: string, key: string])[];
}

const leases: PolicyRule = {
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  verbs: ['get', 'list', 'watch', 'create', 'update', 'patch'],
};

/** Rights in one namespace. */
const ownRules: Readonly<Partial<Record<InstalledPart, readonly PolicyRule[]>>> = {
  multicluster: [
    leases,
    {
      apiGroups: ['multicluster.fairlead.dev'],
      resources: ['clustermembers'],
      verbs: ['get', 'list', 'watch', 'update'],
    },
    { apiGroups: ['multicluster.fairlead.dev'], resources: ['clustermembers/status'], verbs: ['update'] },
    // The credentials of members, whose tokens it renews.
    { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch', 'patch'] },
  ],
  controllers: [leases],
  loadbalancer: [leases],
  // Replicas register here, and nowhere else.
  gateway: [{ apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['create', 'update', 'delete'] }],
};

/** Where a part has the rights of `ownRules`: gateways register in a namespace that other clusters know. */
const ownNamespace = (part: InstalledPart, { namespace }: ValueSource): string =>
  part === 'gateway' ? gatewayService.namespace : namespace;

/** Rights in the whole cluster. The controller of the set has the account of a member in each cluster, this one included. */
const clusterRules = (part: InstalledPart): readonly PolicyRule[] =>
  part === 'multicluster' ? [] : (partRules[part] ?? []);

/** The manifests of a part, in the order in which they are created. */
export const manifestsOf = (part: InstalledPart, source: ValueSource): readonly PartManifest[] => [
  ...unlabelled(part, source).map(({ manifest, when }) => ({
    manifest: labelled(manifest, labelsOf(part, source.managedBy)),
    when,
  })),
  {
    manifest: serviceMonitor(part, source),
    when: [
      [part, 'enabled'],
      ['serviceMonitors', 'enabled'],
    ],
  },
];

function unlabelled(part: InstalledPart, source: ValueSource): readonly PartManifest[] {
  const account = { namespace: source.namespace, name: `fairlead-${part}` };
  const [rules, own] = [clusterRules(part), ownRules[part]];
  const isEnabled = [part, 'enabled'] as const;
  const always = (manifest: Manifest): PartManifest => ({ manifest, when: [isEnabled] });
  const name = account.name;
  return [
    always({
      ...accountManifest(account),
      metadata: {
        ...accountManifest(account).metadata,
        annotations: source.value(part, 'serviceAccountAnnotations') as Readonly<Record<string, string>>, // placed only
      },
    }),
    ...(rules.length === 0 ? [] : grantManifests({ name, rules, account }).map(always)),
    ...(own === undefined
      ? []
      : grantManifests({ name, rules: own, account, namespace: ownNamespace(part, source) }).map(always)),
    ...(part === 'controllers' ? collector(account) : []),
    ...services(part, source).map(always),
    always(part === 'proxy' ? daemonSet(source) : deployment(part, source)),
    ...(part === 'proxy'
      ? []
      : [{ manifest: budget(part, source), when: [isEnabled, ['podDisruptionBudgets', 'enabled']] as const }]),
  ];
}

const collector = (account: { readonly namespace: string; readonly name: string }): readonly PartManifest[] =>
  grantManifests({ name: 'fairlead-garbage-collector', rules: collectorRules, account }).map((manifest) => ({
    manifest,
    when: [
      ['controllers', 'enabled'],
      ['controllers', 'garbageCollector'],
    ],
  }));

const metadataOf = (part: InstalledPart, { namespace }: ValueSource, suffix = ''): Manifest['metadata'] => ({
  name: `fairlead-${part}${suffix}`,
  namespace,
});

function deployment(part: InstalledPart, source: ValueSource): Manifest {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: metadataOf(part, source),
    spec: {
      replicas: source.value(part, 'replicas'),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      selector: { matchLabels: selectorOf(part) },
      template: podTemplate(part, source, {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'kubernetes.io/hostname',
            whenUnsatisfiable: 'ScheduleAnyway',
            labelSelector: { matchLabels: selectorOf(part) },
          },
        ],
      }),
    },
  };
}

const daemonSet = (source: ValueSource): Manifest => ({
  apiVersion: 'apps/v1',
  kind: 'DaemonSet',
  metadata: metadataOf('proxy', source),
  spec: {
    updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '10%' } },
    selector: { matchLabels: selectorOf('proxy') },
    template: podTemplate('proxy', source, {}),
  },
});

function podTemplate(part: InstalledPart, source: ValueSource, more: object): object {
  const { flags, ports, live, ready, pod = {} } = workloads[part];
  const probe = ([path, port]: readonly [string, string], rest: object): object => ({
    httpGet: { path, port },
    ...rest,
  });
  return {
    metadata: { labels: selectorOf(part) },
    spec: {
      serviceAccountName: `fairlead-${part}`,
      imagePullSecrets: source.value('image', 'pullSecrets'),
      nodeSelector: source.value(part, 'nodeSelector'),
      tolerations: source.value(part, 'tolerations'),
      ...more,
      ...pod,
      ...(part === 'gateway'
        ? { volumes: [{ name: 'tls', secret: { secretName: source.value('gateway', 'tlsSecret') } }] }
        : {}),
      containers: [
        {
          name: part,
          image: source.image,
          imagePullPolicy: source.value('image', 'pullPolicy'),
          args: source.listed([part, ...flags], part, 'args'),
          ...(part === 'proxy' ? { env: proxyEnv(source) } : {}),
          ...(part === 'gateway' ? { env: gatewayEnv, volumeMounts: gatewayMounts } : {}),
          ports: ports.map(({ name, port, protocol = 'TCP' }) => ({ name, containerPort: port, protocol })),
          livenessProbe: probe(live, { periodSeconds: 10, failureThreshold: 6 }),
          readinessProbe: probe(ready, { periodSeconds: 2 }),
          resources: source.value(part, 'resources'),
          securityContext: part === 'proxy' ? privileged : restricted,
        },
      ],
    },
  };
}

/** As the Pod Security Standard "restricted" requires. */
const restricted = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsNonRoot: true,
  runAsUser: 65_532,
  runAsGroup: 65_532,
  capabilities: { drop: ['ALL'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** For rules in the kernel, and node ports below 1024. */
const privileged = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  runAsUser: 0,
  capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_BIND_SERVICE'] },
  seccompProfile: { type: 'RuntimeDefault' },
};

/** The address of the API server is not that of its Service, which only works once a proxy runs. */
const proxyEnv = (source: ValueSource): readonly object[] => [
  { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  { name: 'KUBERNETES_SERVICE_HOST', value: source.value('proxy', 'apiServerHost') },
  { name: 'KUBERNETES_SERVICE_PORT', value: source.value('proxy', 'apiServerPort') },
];

/** Proxies of the cluster connect to the address of the Pod. */
const gatewayEnv = [{ name: 'POD_IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }];
const gatewayMounts = [{ name: 'tls', mountPath: tlsDirectory, readOnly: true }];

/** The Services of the DNS server and the gateway, and one for the metrics of each part. */
function services(part: InstalledPart, source: ValueSource): readonly Manifest[] {
  const { metrics } = workloads[part];
  const service = (metadata: Manifest['metadata'], spec: object): Manifest => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata,
    spec: { selector: selectorOf(part), ...spec },
  });
  const port = (name: string, number: number, protocol = 'TCP'): object => ({
    name,
    port: number,
    protocol,
    targetPort: name,
  });
  return [
    ...(part === 'dns'
      ? [
          service(metadataOf(part, source), {
            clusterIP: source.value('dns', 'clusterIP'),
            ports: [port('dns', 53, 'UDP'), port('dns-tcp', 53)],
          }),
        ]
      : []),
    ...(part === 'gateway' ? [gatewayServiceManifest(source)] : []),
    service(
      { ...metadataOf(part, source, '-metrics'), labels: { 'fairlead.dev/metrics': 'true' } },
      {
        clusterIP: 'None',
        ports: [port(metrics, workloads[part].ports.find(({ name }) => name === metrics)?.port ?? 0)],
      },
    ),
  ];
}

/** Without a selector: the replicas register in its EndpointSlices themselves. */
const gatewayServiceManifest = (source: ValueSource): Manifest => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: {
    ...gatewayService,
    annotations: source.value('gateway', 'serviceAnnotations') as Readonly<Record<string, string>>, // placed only
  },
  spec: {
    type: source.value('gateway', 'serviceType'),
    ports: [{ name: peerPort.name, port: peerPort.number, protocol: 'TCP' }],
  },
});

const budget = (part: InstalledPart, source: ValueSource): Manifest => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: metadataOf(part, source),
  spec: { maxUnavailable: 1, selector: { matchLabels: selectorOf(part) } },
});

const serviceMonitor = (part: InstalledPart, source: ValueSource): Manifest => ({
  apiVersion: 'monitoring.coreos.com/v1',
  kind: 'ServiceMonitor',
  metadata: {
    ...metadataOf(part, source),
    labels: source.extended(labelsOf(part, source.managedBy), 'serviceMonitors', 'labels'),
  },
  spec: {
    selector: { matchLabels: { ...selectorOf(part), 'fairlead.dev/metrics': 'true' } },
    endpoints: [{ port: workloads[part].metrics, path: '/metrics' }],
  },
});
