import { objectMeta } from '../../../metadata.ts';
import {
  always,
  atomicMap,
  boolean,
  int32,
  int64,
  list,
  listMap,
  map,
  oneOf,
  optional,
  pointer,
  quantity,
  string,
  struct,
} from '../../../schema/schema.ts';
import { affinity, toleration, topologySpreadConstraint } from './affinity.ts';
import { container, ephemeralContainer } from './container.ts';
import { localObjectReference } from '../references.ts';
import { podResourceClaim, resourceRequirements } from './resources.ts';
import { podSecurityContext } from './security.ts';
import { volume } from './volumes.ts';

const core = 'io.k8s.api.core.v1';

const hostAlias = struct(`${core}.HostAlias`, 'A line of the hosts file.', {
  ip: always(1, string, 'The address.', { required: true }),
  hostnames: optional(2, list(string), 'Its names.'),
});

const podDNSConfigOption = struct(`${core}.PodDNSConfigOption`, 'An option of the resolver.', {
  name: optional(1, string, 'Name of the option.'),
  value: pointer(2, string, 'Its value.'),
});

const podDNSConfig = struct(`${core}.PodDNSConfig`, 'Settings of the resolver, in addition to dnsPolicy.', {
  nameservers: optional(1, list(string), 'Addresses of name servers.'),
  searches: optional(2, list(string), 'Search domains.'),
  options: optional(3, list(podDNSConfigOption), 'Options.'),
});

const podReadinessGate = struct(`${core}.PodReadinessGate`, 'A condition that must be True for the Pod to be ready.', {
  conditionType: always(1, string, 'Type of the condition.', { required: true }),
});

const podOS = struct(`${core}.PodOS`, 'The operating system of a Pod.', {
  name: always(1, string, 'linux or windows.', { required: true }),
});

const podSchedulingGate = struct(`${core}.PodSchedulingGate`, 'Delays scheduling until it is removed.', {
  name: always(1, string, 'Name of the gate.', { required: true }),
});

export const podSpec = struct(`${core}.PodSpec`, 'The desired state of a Pod.', {
  volumes: optional(
    1,
    listMap(volume, ['name'], { mergeKey: 'name', retainKeys: true }),
    'Volumes that containers may mount.',
  ),
  initContainers: optional(
    20,
    listMap(container, ['name'], { mergeKey: 'name' }),
    'Containers that run to completion first, in order.',
  ),
  containers: always(2, listMap(container, ['name'], { mergeKey: 'name' }), 'The containers; at least one.', {
    required: true,
  }),
  ephemeralContainers: optional(
    34,
    listMap(ephemeralContainer, ['name'], { mergeKey: 'name' }),
    'Containers added later for debugging.',
  ),
  restartPolicy: optional(3, oneOf('Always', 'OnFailure', 'Never'), 'When containers are restarted.'),
  terminationGracePeriodSeconds: pointer(4, int64, 'How long the Pod may take to stop.'),
  activeDeadlineSeconds: pointer(5, int64, 'How long the Pod may be active.'),
  dnsPolicy: optional(6, oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'), 'DNS policy.'),
  nodeSelector: optional(7, atomicMap(string), 'Required labels of the node.'),
  serviceAccountName: optional(8, string, 'Service account to run as.'),
  serviceAccount: optional(9, string, 'Deprecated name of serviceAccountName.'),
  automountServiceAccountToken: pointer(21, boolean, 'Whether to mount a token.'),
  nodeName: optional(10, string, 'The node of the Pod.'),
  hostNetwork: optional(11, boolean, 'Whether to use the host’s network.'),
  hostPID: optional(12, boolean, 'Whether to use the host’s process IDs.'),
  hostIPC: optional(13, boolean, 'Whether to use the host’s IPC.'),
  shareProcessNamespace: pointer(27, boolean, 'Whether containers see each other’s processes.'),
  securityContext: pointer(14, podSecurityContext, 'Security settings for all containers.'),
  imagePullSecrets: optional(
    15,
    listMap(localObjectReference, ['name'], { mergeKey: 'name' }),
    'Secrets for pulling images.',
  ),
  hostname: optional(16, string, 'Host name of the Pod.'),
  subdomain: optional(17, string, 'Subdomain of the Pod’s name; a headless Service.'),
  affinity: pointer(18, affinity, 'Affinity to nodes and Pods.'),
  schedulerName: optional(19, string, 'Scheduler that places the Pod.'),
  tolerations: optional(22, list(toleration), 'Taints that the Pod tolerates.'),
  hostAliases: optional(23, listMap(hostAlias, ['ip'], { mergeKey: 'ip' }), 'Lines for the hosts file.'),
  priorityClassName: optional(24, string, 'Priority class.'),
  priority: pointer(25, int32, 'The priority.'),
  dnsConfig: pointer(26, podDNSConfig, 'Settings of the resolver.'),
  readinessGates: optional(28, list(podReadinessGate), 'Conditions that readiness depends on.'),
  runtimeClassName: pointer(29, string, 'Container runtime class.'),
  enableServiceLinks: pointer(30, boolean, 'Whether Services appear as environment variables.'),
  preemptionPolicy: pointer(31, oneOf('PreemptLowerPriority', 'Never'), 'Whether the Pod may evict others.'),
  overhead: optional(32, map(quantity), 'Resources used in addition to the containers.'),
  topologySpreadConstraints: optional(
    33,
    listMap(topologySpreadConstraint, ['topologyKey', 'whenUnsatisfiable'], { mergeKey: 'topologyKey' }),
    'How evenly Pods are spread.',
  ),
  setHostnameAsFQDN: pointer(35, boolean, 'Whether the host name is the full domain name.'),
  os: pointer(36, podOS, 'Operating system.'),
  hostUsers: pointer(37, boolean, 'Whether to use the host’s users.'),
  schedulingGates: optional(
    38,
    listMap(podSchedulingGate, ['name'], { mergeKey: 'name' }),
    'Gates that delay scheduling.',
  ),
  resourceClaims: optional(
    39,
    listMap(podResourceClaim, ['name'], { mergeKey: 'name', retainKeys: true }),
    'Claims that must be allocated before the Pod starts.',
  ),
  resources: pointer(40, resourceRequirements, 'Resources of the Pod as a whole.'),
  hostnameOverride: pointer(41, string, 'Hostname that overrides all other rules.'),
});

export const podTemplateSpec = struct(`${core}.PodTemplateSpec`, 'A template of Pods.', {
  metadata: always(1, objectMeta, 'Labels and annotations of the Pods.'),
  spec: always(2, podSpec, 'The desired state of each Pod.'),
});
