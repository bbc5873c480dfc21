// What a node should be.
import {
  always,
  boolean,
  list,
  oneOf,
  optional,
  pointer,
  setOf,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const taint = struct(`${core}.Taint`, 'Keeps Pods away that do not tolerate it.', {
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

export const nodeConfigSource = struct(
  `${core}.NodeConfigSource`,
  'Where the kubelet’s settings come from. Deprecated.',
  {
    configMap: pointer(2, configMapNodeConfigSource, 'A ConfigMap.'),
  },
);

export const nodeSpec = struct(`${core}.NodeSpec`, 'What a node should be.', {
  podCIDR: optional(1, string, 'First range of Pod addresses.'),
  podCIDRs: optional(7, setOf(string, 'merge'), 'Ranges of Pod addresses, at most one of each family.'),
  providerID: optional(3, string, 'The machine, as its cloud names it.'),
  unschedulable: optional(4, boolean, 'Whether new Pods are kept away.'),
  taints: optional(5, list(taint), 'What keeps Pods away.'),
  configSource: pointer(6, nodeConfigSource, 'Deprecated and ignored.'),
  externalID: optional(2, string, 'Deprecated and ignored.'),
});
