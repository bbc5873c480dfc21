import {
  always,
  boolean,
  int32,
  int64,
  list,
  listMap,
  map,
  mergeList,
  oneOf,
  optional,
  pointer,
  quantity,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';
import { resourceRequirements } from './resources.ts';

const core = 'io.k8s.api.core.v1';

const podCondition = struct(`${core}.PodCondition`, 'A condition of a Pod.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  observedGeneration: optional(7, int64, 'The generation that the condition was set for.'),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastProbeTime: always(3, time, 'When it was last checked.'),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Reason, as one CamelCase word.'),
  message: optional(6, string, 'Human-readable message.'),
});

const hostIP = struct(`${core}.HostIP`, 'An address of the host.', {
  ip: always(1, string, 'The address.', { required: true }),
});

const podIP = struct(`${core}.PodIP`, 'An address of the Pod.', {
  ip: always(1, string, 'The address.', { required: true }),
});

const containerStateWaiting = struct(`${core}.ContainerStateWaiting`, 'A container that is not running yet.', {
  reason: optional(1, string, 'Reason, as one CamelCase word.'),
  message: optional(2, string, 'Human-readable message.'),
});

const containerStateRunning = struct(`${core}.ContainerStateRunning`, 'A running container.', {
  startedAt: always(1, time, 'When it started.'),
});

const containerStateTerminated = struct(`${core}.ContainerStateTerminated`, 'A terminated container.', {
  exitCode: always(1, int32, 'Exit code.', { required: true }),
  signal: optional(2, int32, 'Signal that terminated it.'),
  reason: optional(3, string, 'Reason, as one CamelCase word.'),
  message: optional(4, string, 'Human-readable message.'),
  startedAt: always(5, time, 'When it started.'),
  finishedAt: always(6, time, 'When it terminated.'),
  containerID: optional(7, string, 'ID of the container.'),
});

const containerState = struct(`${core}.ContainerState`, 'State of a container; at most one field is set.', {
  waiting: pointer(1, containerStateWaiting, 'Not running yet.'),
  running: pointer(2, containerStateRunning, 'Running.'),
  terminated: pointer(3, containerStateTerminated, 'Terminated.'),
});

const volumeMountStatus = struct(`${core}.VolumeMountStatus`, 'State of a mount.', {
  name: always(1, string, 'Name of the volume.', { required: true }),
  mountPath: always(2, string, 'Path in the container.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it is read-only.'),
  recursiveReadOnly: pointer(4, string, 'Whether mounts below it are read-only too.'),
});

const linuxContainerUser = struct(`${core}.LinuxContainerUser`, 'User and groups of a process.', {
  uid: always(1, int64, 'User ID.', { required: true }),
  gid: always(2, int64, 'Group ID.', { required: true }),
  supplementalGroups: optional(3, list(int64), 'Further groups.'),
});

const containerUser = struct(`${core}.ContainerUser`, 'User of a container.', {
  linux: pointer(1, linuxContainerUser, 'On Linux.'),
});

const resourceHealth = struct(`${core}.ResourceHealth`, 'Health of one device.', {
  resourceID: always(1, string, 'ID of the device.', { required: true }),
  health: optional(2, string, 'Healthy, Unhealthy or Unknown.'),
});

const resourceStatus = struct(`${core}.ResourceStatus`, 'Health of an allocated resource.', {
  name: always(1, string, 'Name of the resource.', { required: true }),
  resources: optional(2, listMap(resourceHealth, ['resourceID']), 'Its devices.'),
});

export const containerStatus = struct(`${core}.ContainerStatus`, 'Observed state of a container.', {
  name: always(1, string, 'Name of the container.', { required: true }),
  state: always(2, containerState, 'Current state.'),
  lastState: always(3, containerState, 'Previous state.'),
  ready: always(4, boolean, 'Whether the readiness probe succeeds.', { required: true }),
  restartCount: always(5, int32, 'Number of restarts.', { required: true }),
  image: always(6, string, 'Running image.', { required: true }),
  imageID: always(7, string, 'ID of the image.', { required: true }),
  containerID: optional(8, string, 'ID of the container.'),
  started: pointer(9, boolean, 'Whether it has started.'),
  allocatedResources: optional(10, map(quantity), 'Allocated resources.'),
  resources: pointer(11, resourceRequirements, 'Effective resources.'),
  volumeMounts: optional(12, listMap(volumeMountStatus, ['mountPath'], { mergeKey: 'mountPath' }), 'State of mounts.'),
  user: pointer(13, containerUser, 'User of the container.'),
  allocatedResourcesStatus: optional(
    14,
    listMap(resourceStatus, ['name'], { mergeKey: 'name' }),
    'Health of resources.',
  ),
  stopSignal: pointer(15, string, 'Stop signal.'),
});

const podResourceClaimStatus = struct(
  `${core}.PodResourceClaimStatus`,
  'The claim created for an entry of resourceClaims.',
  {
    name: always(1, string, 'Name of the entry.', { required: true }),
    resourceClaimName: pointer(2, string, 'Name of the ResourceClaim.'),
  },
);

const containerExtendedResourceRequest = struct(
  `${core}.ContainerExtendedResourceRequest`,
  'Maps a container’s resource to a claim’s request.',
  {
    containerName: always(1, string, 'The container.', { required: true }),
    resourceName: always(2, string, 'The resource.', { required: true }),
    requestName: always(3, string, 'The request.', { required: true }),
  },
);

const podExtendedResourceClaimStatus = struct(
  `${core}.PodExtendedResourceClaimStatus`,
  'The claim created for extended resources.',
  {
    requestMappings: always(
      1,
      list(containerExtendedResourceRequest),
      'Mappings from container resources to requests.',
      {
        required: true,
      },
    ),
    resourceClaimName: always(2, string, 'Name of the ResourceClaim.', { required: true }),
  },
);

export const podStatus = struct(`${core}.PodStatus`, 'The observed state of a Pod.', {
  observedGeneration: optional(17, int64, 'The generation this status reflects.'),
  phase: optional(
    1,
    oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
    'Pending, Running, Succeeded, Failed or Unknown.',
  ),
  conditions: optional(2, listMap(podCondition, ['type'], { mergeKey: 'type' }), 'State of the Pod.'),
  message: optional(3, string, 'Human-readable message.'),
  reason: optional(4, string, 'Reason, as one CamelCase word.'),
  nominatedNodeName: optional(11, string, 'Node on which Pods are preempted for this Pod.'),
  hostIP: optional(5, string, 'Address of the host.'),
  hostIPs: optional(16, mergeList(hostIP, 'ip'), 'Addresses of the host.'),
  podIP: optional(6, string, 'Address of the Pod.'),
  podIPs: optional(12, listMap(podIP, ['ip'], { mergeKey: 'ip' }), 'Addresses of the Pod, at most one of each family.'),
  startTime: pointer(7, time, 'When the node accepted the Pod.'),
  initContainerStatuses: optional(10, list(containerStatus), 'Init containers.'),
  containerStatuses: optional(8, list(containerStatus), 'Containers.'),
  qosClass: optional(9, string, 'Guaranteed, Burstable or BestEffort.'),
  ephemeralContainerStatuses: optional(13, list(containerStatus), 'Ephemeral containers.'),
  resize: optional(14, string, 'Progress of a resize. Deprecated.'),
  resourceClaimStatuses: optional(
    15,
    listMap(podResourceClaimStatus, ['name'], { mergeKey: 'name', retainKeys: true }),
    'Claims that were created.',
  ),
  extendedResourceClaimStatus: pointer(18, podExtendedResourceClaimStatus, 'The claim for extended resources.'),
});
