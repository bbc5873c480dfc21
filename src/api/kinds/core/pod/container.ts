// Containers of a Pod.
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

const volumeMount = struct(`${core}.VolumeMount`, 'Where a volume appears in a container.', {
  name: always(1, string, 'Name of the volume.', { required: true }),
  readOnly: optional(2, boolean, 'Whether it cannot be written.'),
  recursiveReadOnly: pointer(7, string, 'Whether mounts below it are read-only too.'),
  mountPath: always(3, string, 'Path in the container.', { required: true }),
  subPath: optional(4, string, 'Path inside the volume to mount.'),
  mountPropagation: pointer(5, string, 'How mounts spread between host and container.'),
  subPathExpr: optional(6, string, 'Like subPath, with variables of the container.'),
});

const volumeDevice = struct(`${core}.VolumeDevice`, 'Where a raw block device appears in a container.', {
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

const containerRestartRule = struct(
  `${core}.ContainerRestartRule`,
  'What to do when a container exits in a certain way.',
  {
    action: optional(1, string, 'The action to take: Restart.'),
    exitCodes: pointer(2, containerRestartRuleOnExitCodes, 'The exit codes it is for.'),
  },
);

const containerFields = {
  name: always(1, string, 'Unique name in the Pod; a DNS label.', { required: true }),
  image: optional(2, string, 'Image to run.'),
  command: optional(3, list(string), 'Entrypoint, instead of the image’s.'),
  args: optional(4, list(string), 'Arguments, instead of the image’s.'),
  workingDir: optional(5, string, 'Working directory.'),
  ports: optional(
    6,
    listMap(containerPort, ['containerPort', 'protocol'], { mergeKey: 'containerPort' }),
    'Ports the container listens on; for information.',
  ),
  envFrom: optional(19, list(envFromSource), 'Sources whose keys all become variables.'),
  env: optional(7, listMap(envVar, ['name'], { mergeKey: 'name' }), 'Environment variables.'),
  resources: always(8, resourceRequirements, 'Requested and allowed resources.'),
  resizePolicy: optional(23, list(containerResizePolicy), 'What a resize of each resource does.'),
  restartPolicy: pointer(24, string, 'Restart behaviour of this container alone.'),
  restartPolicyRules: optional(25, list(containerRestartRule), 'Restart behaviour by exit code.'),
  volumeMounts: optional(9, listMap(volumeMount, ['mountPath'], { mergeKey: 'mountPath' }), 'Volumes to mount.'),
  volumeDevices: optional(
    21,
    listMap(volumeDevice, ['devicePath'], { mergeKey: 'devicePath' }),
    'Block devices to map.',
  ),
  livenessProbe: pointer(10, probe, 'A failing check restarts the container.'),
  readinessProbe: pointer(11, probe, 'A failing check takes the Pod out of Services.'),
  startupProbe: pointer(22, probe, 'Other checks wait until this one succeeds.'),
  lifecycle: pointer(12, lifecycle, 'Hooks at start and stop.'),
  terminationMessagePath: optional(13, string, 'File whose content becomes the final message.'),
  terminationMessagePolicy: optional(
    20,
    oneOf('File', 'FallbackToLogsOnError'),
    'Where the final message is taken from.',
  ),
  imagePullPolicy: optional(14, oneOf('Always', 'Never', 'IfNotPresent'), 'When the image is pulled.'),
  securityContext: pointer(15, securityContext, 'Security settings.'),
  stdin: optional(16, boolean, 'Whether to keep a buffer for standard input.'),
  stdinOnce: optional(17, boolean, 'Whether standard input closes after the first client.'),
  tty: optional(18, boolean, 'Whether to allocate a terminal.'),
} as const;

export const container = struct(`${core}.Container`, 'One container of a Pod.', containerFields);

/** The same fields as JSON has them inline and protobuf in a message of their own, which is field `number`. */
const inlined = <Fields extends FieldMap>(number: number, fields: Fields): Fields =>
  // A field of the same type under the same name: only the protobuf encoding differs, which types know nothing of.
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, { ...field, inline: number }])) as Fields;

export const ephemeralContainer = struct(
  `${core}.EphemeralContainer`,
  'A container added to a running Pod to look into it.',
  {
    ...inlined(1, containerFields),
    targetContainerName: optional(2, string, 'Container whose processes it can see.'),
  },
);
