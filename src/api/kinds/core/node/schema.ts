import {
  always,
  boolean,
  int32,
  int64,
  list,
  listMap,
  map,
  optional,
  pointer,
  quantity,
  string,
  struct,
  time,
  oneOf,
  setOf,
} from '../../../schema/schema.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';

const core = 'io.k8s.api.core.v1';

const taint = struct(`${core}.Taint`, 'Repels Pods that do not tolerate it.', {
  key: always(1, string, 'Key of the taint.', { required: true }),
  value: optional(2, string, 'Value of the taint.'),
  effect: always(
    3,
    oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'),
    'NoSchedule, PreferNoSchedule or NoExecute.',
    { required: true },
  ),
  timeAdded: pointer(4, time, 'When it was added, for NoExecute.'),
});

const configMapNodeConfigSource = struct(
  `${core}.ConfigMapNodeConfigSource`,
  'A ConfigMap with the kubelet’s settings.',
  {
    namespace: always(1, string, 'Namespace of the ConfigMap.', { required: true }),
    name: always(2, string, 'Name of the ConfigMap.', { required: true }),
    uid: optional(3, string, 'UID of the ConfigMap.'),
    resourceVersion: optional(4, string, 'Revision of the ConfigMap.'),
    kubeletConfigKey: always(5, string, 'Key with the settings.', { required: true }),
  },
);

const nodeConfigSource = struct(`${core}.NodeConfigSource`, 'Source of the configuration of the kubelet. Deprecated.', {
  configMap: pointer(2, configMapNodeConfigSource, 'A ConfigMap.'),
});

const nodeSpec = struct(`${core}.NodeSpec`, 'The desired state of a node.', {
  podCIDR: optional(1, string, 'First range of Pod addresses.'),
  podCIDRs: optional(7, setOf(string, 'merge'), 'Ranges of Pod addresses, at most one of each family.'),
  providerID: optional(3, string, 'ID of the machine at its cloud provider.'),
  unschedulable: optional(4, boolean, 'Whether new Pods are not scheduled to the node.'),
  taints: optional(5, list(taint), 'Taints of the node.'),
  configSource: pointer(6, nodeConfigSource, 'Deprecated and ignored.'),
  externalID: optional(2, string, 'Deprecated and ignored.'),
});

const nodeCondition = struct(`${core}.NodeCondition`, 'A condition of a node.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastHeartbeatTime: always(3, time, 'When it was last reported.'),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Reason, as one CamelCase word.'),
  message: optional(6, string, 'Human-readable message.'),
});

const nodeAddress = struct(`${core}.NodeAddress`, 'One address of a node.', {
  type: always(1, string, 'InternalIP, ExternalIP, Hostname, InternalDNS or ExternalDNS.', { required: true }),
  address: always(2, string, 'The address or name.', { required: true }),
});

const daemonEndpoint = struct(`${core}.DaemonEndpoint`, 'A port of a daemon on the node.', {
  Port: always(1, int32, 'The port.', { required: true }),
});

const nodeDaemonEndpoints = struct(`${core}.NodeDaemonEndpoints`, 'Ports of daemons on the node.', {
  kubeletEndpoint: always(1, daemonEndpoint, 'The kubelet.'),
});

const nodeSwapStatus = struct(`${core}.NodeSwapStatus`, 'Swap memory of a node.', {
  capacity: pointer(1, int64, 'Bytes of swap.'),
});

const nodeSystemInfo = struct(`${core}.NodeSystemInfo`, 'Identifiers and versions of a node.', {
  machineID: always(1, string, 'ID of the machine.', { required: true }),
  systemUUID: always(2, string, 'UUID of the system.', { required: true }),
  bootID: always(3, string, 'ID of this boot.', { required: true }),
  kernelVersion: always(4, string, 'Version of the kernel.', { required: true }),
  osImage: always(5, string, 'Name of the operating system image.', { required: true }),
  containerRuntimeVersion: always(6, string, 'Version of the container runtime.', { required: true }),
  kubeletVersion: always(7, string, 'Version of the kubelet.', { required: true }),
  kubeProxyVersion: always(8, string, 'Deprecated; not reliable.', { required: true }),
  operatingSystem: always(9, string, 'Operating system.', { required: true }),
  architecture: always(10, string, 'Processor architecture.', { required: true }),
  swap: pointer(11, nodeSwapStatus, 'Swap memory.'),
});

const containerImage = struct(`${core}.ContainerImage`, 'An image on the node.', {
  names: always(1, list(string), 'Names of the image.'),
  sizeBytes: optional(2, int64, 'Size of the image.'),
});

const attachedVolume = struct(`${core}.AttachedVolume`, 'A volume attached to the node.', {
  name: always(1, string, 'Name of the volume.', { required: true }),
  devicePath: always(2, string, 'Device of the volume.', { required: true }),
});

const nodeConfigStatus = struct(`${core}.NodeConfigStatus`, 'State of the kubelet’s settings. Deprecated.', {
  assigned: pointer(1, nodeConfigSource, 'Settings to use.'),
  active: pointer(2, nodeConfigSource, 'Settings in use.'),
  lastKnownGood: pointer(3, nodeConfigSource, 'Settings to fall back to.'),
  error: optional(4, string, 'Error message.'),
});

const nodeRuntimeHandlerFeatures = struct(`${core}.NodeRuntimeHandlerFeatures`, 'Features of a runtime handler.', {
  recursiveReadOnlyMounts: pointer(1, boolean, 'Whether it can make mounts read-only recursively.'),
  userNamespaces: pointer(2, boolean, 'Whether it can use user namespaces.'),
});

const nodeRuntimeHandler = struct(`${core}.NodeRuntimeHandler`, 'A handler of the container runtime.', {
  name: always(1, string, 'Name of the handler; empty for the default.'),
  features: pointer(2, nodeRuntimeHandlerFeatures, 'Features of the handler.'),
});

const nodeFeatures = struct(`${core}.NodeFeatures`, 'Features of the container runtime.', {
  supplementalGroupsPolicy: pointer(1, boolean, 'Whether it supports supplementalGroupsPolicy.'),
});

const nodeStatus = struct(`${core}.NodeStatus`, 'The observed state of a node.', {
  capacity: optional(1, map(quantity), 'All resources.'),
  allocatable: optional(2, map(quantity), 'Resources that Pods may use.'),
  phase: optional(3, string, 'Deprecated and never set.'),
  conditions: optional(4, listMap(nodeCondition, ['type'], { mergeKey: 'type' }), 'State of the node.'),
  addresses: optional(5, listMap(nodeAddress, ['type'], { mergeKey: 'type' }), 'Addresses of the node.'),
  daemonEndpoints: always(6, nodeDaemonEndpoints, 'Ports of daemons.'),
  nodeInfo: always(7, nodeSystemInfo, 'Identifiers and versions.'),
  images: optional(8, list(containerImage), 'Images on the node.'),
  volumesInUse: optional(9, list(string), 'Volumes in use.'),
  volumesAttached: optional(10, list(attachedVolume), 'Volumes attached.'),
  config: pointer(11, nodeConfigStatus, 'Deprecated and ignored.'),
  runtimeHandlers: optional(12, list(nodeRuntimeHandler), 'Handlers of the container runtime.'),
  features: pointer(13, nodeFeatures, 'Features of the container runtime.'),
});

export const node = objectSchema('io.k8s.api.core.v1.Node', 'A machine that runs Pods.', {
  spec: always(2, nodeSpec, 'The desired state of the node.'),
  status: always(3, nodeStatus, 'The observed state of the node. Written by its agent.'),
});

export type Node = Infer<typeof node>;
