// What a Pod is.
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

const podCondition = struct(`${core}.PodCondition`, 'One aspect of a Pod’s state.', {
  type: always(1, string, 'Which aspect.', { required: true }),
  observedGeneration: optional(7, int64, 'The generation this was judged by.'),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastProbeTime: always(3, time, 'When it was last checked.'),
  lastTransitionTime: always(4, time, 'When the status last changed.'),
  reason: optional(5, string, 'Why, in one word.'),
  message: optional(6, string, 'Why, for a person.'),
});

const hostIP = struct(`${core}.HostIP`, 'An address of the host.', {
  ip: always(1, string, 'The address.', { required: true }),
});

const podIP = struct(`${core}.PodIP`, 'An address of the Pod.', {
  ip: always(1, string, 'The address.', { required: true }),
});

const containerStateWaiting = struct(`${core}.ContainerStateWaiting`, 'A container that does not run yet.', {
  reason: optional(1, string, 'Why, in one word.'),
  message: optional(2, string, 'Why, for a person.'),
});

const containerStateRunning = struct(`${core}.ContainerStateRunning`, 'A container that runs.', {
  startedAt: always(1, time, 'Since when.'),
});

const containerStateTerminated = struct(`${core}.ContainerStateTerminated`, 'A container that has ended.', {
  exitCode: always(1, int32, 'Exit code.', { required: true }),
  signal: optional(2, int32, 'Signal that ended it.'),
  reason: optional(3, string, 'Why, in one word.'),
  message: optional(4, string, 'Why, for a person.'),
  startedAt: always(5, time, 'When it started.'),
  finishedAt: always(6, time, 'When it ended.'),
  containerID: optional(7, string, 'ID of the container.'),
});

const containerState = struct(`${core}.ContainerState`, 'What a container does; at most one is set.', {
  waiting: pointer(1, containerStateWaiting, 'Not running yet.'),
  running: pointer(2, containerStateRunning, 'Running.'),
  terminated: pointer(3, containerStateTerminated, 'Ended.'),
});

const volumeMountStatus = struct(`${core}.VolumeMountStatus`, 'State of a mount.', {
  name: always(1, string, 'Name of the volume.', { required: true }),
  mountPath: always(2, string, 'Path in the container.', { required: true }),
  readOnly: optional(3, boolean, 'Whether it cannot be written.'),
  recursiveReadOnly: pointer(4, string, 'Whether mounts below it are read-only too.'),
});

const linuxContainerUser = struct(`${core}.LinuxContainerUser`, 'User and groups of a process.', {
  uid: always(1, int64, 'User ID.', { required: true }),
  gid: always(2, int64, 'Group ID.', { required: true }),
  supplementalGroups: optional(3, list(int64), 'Further groups.'),
});

const containerUser = struct(`${core}.ContainerUser`, 'Who a container runs as.', {
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

export const containerStatus = struct(`${core}.ContainerStatus`, 'What a container is.', {
  name: always(1, string, 'Name of the container.', { required: true }),
  state: always(2, containerState, 'What it does.'),
  lastState: always(3, containerState, 'How it ended last time.'),
  ready: always(4, boolean, 'Whether it passes its readiness check.', { required: true }),
  restartCount: always(5, int32, 'How often it was restarted.', { required: true }),
  image: always(6, string, 'Image that runs.', { required: true }),
  imageID: always(7, string, 'ID of the image.', { required: true }),
  containerID: optional(8, string, 'ID of the container.'),
  started: pointer(9, boolean, 'Whether it has started.'),
  allocatedResources: optional(10, map(quantity), 'Resources set aside.'),
  resources: pointer(11, resourceRequirements, 'Resources in force.'),
  volumeMounts: optional(12, listMap(volumeMountStatus, ['mountPath'], { mergeKey: 'mountPath' }), 'State of mounts.'),
  user: pointer(13, containerUser, 'Who it runs as.'),
  allocatedResourcesStatus: optional(
    14,
    listMap(resourceStatus, ['name'], { mergeKey: 'name' }),
    'Health of resources.',
  ),
  stopSignal: pointer(15, string, 'Signal that tells it to stop.'),
});

const podResourceClaimStatus = struct(
  `${core}.PodResourceClaimStatus`,
  'The claim made for an entry of resourceClaims.',
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
  'The claim made for extended resources.',
  {
    requestMappings: always(1, list(containerExtendedResourceRequest), 'Which request serves what.', {
      required: true,
    }),
    resourceClaimName: always(2, string, 'Name of the ResourceClaim.', { required: true }),
  },
);

export const podStatus = struct(`${core}.PodStatus`, 'What a Pod is.', {
  observedGeneration: optional(17, int64, 'The generation this status reflects.'),
  phase: optional(
    1,
    oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
    'Pending, Running, Succeeded, Failed or Unknown.',
  ),
  conditions: optional(2, listMap(podCondition, ['type'], { mergeKey: 'type' }), 'State of the Pod.'),
  message: optional(3, string, 'Why it is so, for a person.'),
  reason: optional(4, string, 'Why it is so, in one word.'),
  nominatedNodeName: optional(11, string, 'Node that is being cleared for the Pod.'),
  hostIP: optional(5, string, 'Address of the host.'),
  hostIPs: optional(16, mergeList(hostIP, 'ip'), 'Addresses of the host.'),
  podIP: optional(6, string, 'Address of the Pod.'),
  podIPs: optional(12, listMap(podIP, ['ip'], { mergeKey: 'ip' }), 'Addresses of the Pod, at most one of each family.'),
  startTime: pointer(7, time, 'When the node took notice of the Pod.'),
  initContainerStatuses: optional(10, list(containerStatus), 'Init containers.'),
  containerStatuses: optional(8, list(containerStatus), 'Containers.'),
  qosClass: optional(9, string, 'Guaranteed, Burstable or BestEffort.'),
  ephemeralContainerStatuses: optional(13, list(containerStatus), 'Ephemeral containers.'),
  resize: optional(14, string, 'Progress of a resize. Deprecated.'),
  resourceClaimStatuses: optional(
    15,
    listMap(podResourceClaimStatus, ['name'], { mergeKey: 'name', retainKeys: true }),
    'Claims that were made.',
  ),
  extendedResourceClaimStatus: pointer(18, podExtendedResourceClaimStatus, 'The claim for extended resources.'),
});
