import type { FieldMap } from '../../../schema/schema.ts';
import {
  always,
  boolean,
  int32,
  list,
  listMap,
  oneOf,
  optional,
  pointer,
  setOf,
  string,
  struct,
} from '../../../schema/schema.ts';
import { envFromSource, envVar } from './environment.ts';
import { lifecycle, probe } from './probe.ts';
import { containerResizePolicy, resourceRequirements } from './resources.ts';
import { securityContext } from './security.ts';

const core = 'io.k8s.api.core.v1';

const containerPort = struct(`${core}.ContainerPort`, 'A port that a container listens on.', {
  name: optional(1, string, 'A name that Services may refer to.'),
  hostPort: optional(2, int32, 'Port of the host to expose it on.'),
  containerPort: always(3, int32, 'Port in the Pod.', { required: true }),
  protocol: optional(4, oneOf('TCP', 'UDP', 'SCTP'), 'TCP, UDP or SCTP.', { default: 'TCP' }),
  hostIP: optional(5, string, 'Host address to bind the host port to.'),
});

const volumeMount = struct(`${core}.VolumeMount`, 'A mount of a volume.', {
  name: always(1, string, 'Name of the volume.', { required: true }),
  readOnly: optional(2, boolean, 'Whether it is read-only.'),
  recursiveReadOnly: pointer(7, string, 'Whether mounts below it are read-only too.'),
  mountPath: always(3, string, 'Path in the container.', { required: true }),
  subPath: optional(4, string, 'Path inside the volume to mount.'),
  mountPropagation: pointer(5, string, 'Propagation of mounts between host and container.'),
  subPathExpr: optional(6, string, 'Like subPath, with variables of the container.'),
});

const volumeDevice = struct(`${core}.VolumeDevice`, 'A mapping of a raw block device.', {
  name: always(1, string, 'Name of the persistent volume claim.', { required: true }),
  devicePath: always(2, string, 'Path of the device in the container.', { required: true }),
});

const containerRestartRuleOnExitCodes = struct(
  `${core}.ContainerRestartRuleOnExitCodes`,
  'A condition on the exit code.',
  {
    operator: optional(1, string, 'In or NotIn.'),
    values: optional(2, setOf(int32), 'The exit codes.'),
  },
);

const containerRestartRule = struct(`${core}.ContainerRestartRule`, 'An action for certain exit codes.', {
  action: optional(1, string, 'The action to take: Restart.'),
  exitCodes: pointer(2, containerRestartRuleOnExitCodes, 'The exit codes.'),
});

const containerFields = {
  name: always(1, string, 'Unique name in the Pod; a DNS label.', { required: true }),
  image: optional(2, string, 'Image to run.'),
  command: optional(3, list(string), 'Entrypoint, instead of the image’s.'),
  args: optional(4, list(string), 'Arguments, instead of the image’s.'),
  workingDir: optional(5, string, 'Working directory.'),
  ports: optional(
    6,
    listMap(containerPort, ['containerPort', 'protocol'], { mergeKey: 'containerPort' }),
    'Ports of the container; informational.',
  ),
  envFrom: optional(19, list(envFromSource), 'Sources of environment variables.'),
  env: optional(7, listMap(envVar, ['name'], { mergeKey: 'name' }), 'Environment variables.'),
  resources: always(8, resourceRequirements, 'Requested and allowed resources.'),
  resizePolicy: optional(23, list(containerResizePolicy), 'Policy for resizing each resource.'),
  restartPolicy: pointer(24, string, 'Restart behaviour of this container alone.'),
  restartPolicyRules: optional(25, list(containerRestartRule), 'Restart behaviour by exit code.'),
  volumeMounts: optional(9, listMap(volumeMount, ['mountPath'], { mergeKey: 'mountPath' }), 'Volumes to mount.'),
  volumeDevices: optional(
    21,
    listMap(volumeDevice, ['devicePath'], { mergeKey: 'devicePath' }),
    'Block devices to map.',
  ),
  livenessProbe: pointer(10, probe, 'A failing check restarts the container.'),
  readinessProbe: pointer(11, probe, 'A failing check removes the Pod from Services.'),
  startupProbe: pointer(22, probe, 'Other checks wait until this one succeeds.'),
  lifecycle: pointer(12, lifecycle, 'Hooks at start and stop.'),
  terminationMessagePath: optional(13, string, 'File with the termination message.'),
  terminationMessagePolicy: optional(20, oneOf('File', 'FallbackToLogsOnError'), 'Source of the termination message.'),
  imagePullPolicy: optional(14, oneOf('Always', 'Never', 'IfNotPresent'), 'When the image is pulled.'),
  securityContext: pointer(15, securityContext, 'Security settings.'),
  stdin: optional(16, boolean, 'Whether to keep a buffer for standard input.'),
  stdinOnce: optional(17, boolean, 'Whether standard input closes after the first client.'),
  tty: optional(18, boolean, 'Whether to allocate a terminal.'),
} as const;

export const container = struct(`${core}.Container`, 'One container of a Pod.', containerFields);

/** The same fields, inline in JSON and in a message with field number `number` in protobuf. */
const inlined = <Fields extends FieldMap>(number: number, fields: Fields): Fields =>
  // Names and types of the fields are the same: `inline` only affects the protobuf encoding.
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { ...field, inline: number }])) as Fields;

export const ephemeralContainer = struct(
  `${core}.EphemeralContainer`,
  'A container added to a running Pod for debugging.',
  {
    ...inlined(1, containerFields),
    targetContainerName: optional(2, string, 'Container whose processes it can see.'),
  },
);
