// Where a Pod may be placed.
import { labelSelector } from '../../../metadata.ts';
import {
  always,
  atomic,
  int32,
  int64,
  list,
  oneOf,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';

const core = 'io.k8s.api.core.v1';

const nodeSelectorRequirement = struct(
  `${core}.NodeSelectorRequirement`,
  'A key, an operator and values that a node must meet.',
  {
    key: always(1, string, 'Label key or field.', { required: true }),
    operator: always(
      2,
      oneOf('In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'),
      'In, NotIn, Exists, DoesNotExist, Gt or Lt.',
      { required: true },
    ),
    values: optional(3, list(string), 'Values for the operator.'),
  },
);

const nodeSelectorTerm = atomic(
  struct(`${core}.NodeSelectorTerm`, 'Requirements that must all hold.', {
    matchExpressions: optional(1, list(nodeSelectorRequirement), 'Requirements on labels.'),
    matchFields: optional(2, list(nodeSelectorRequirement), 'Requirements on fields.'),
  }),
);

const nodeSelector = atomic(
  struct(`${core}.NodeSelector`, 'Terms of which one must hold.', {
    nodeSelectorTerms: always(1, list(nodeSelectorTerm), 'The terms.', { required: true }),
  }),
);

const preferredSchedulingTerm = struct(`${core}.PreferredSchedulingTerm`, 'A preference for some nodes.', {
  weight: always(1, int32, 'How strong, from 1 to 100.', { required: true }),
  preference: always(2, nodeSelectorTerm, 'The nodes.', { required: true }),
});

const nodeAffinity = struct(`${core}.NodeAffinity`, 'Which nodes are needed or preferred.', {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(1, nodeSelector, 'Nodes that are needed.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(preferredSchedulingTerm),
    'Nodes that are preferred.',
  ),
});

const podAffinityTerm = struct(`${core}.PodAffinityTerm`, 'Pods to be near to, or away from.', {
  labelSelector: pointer(1, labelSelector, 'Labels of the Pods.'),
  namespaces: optional(2, list(string), 'Their namespaces; default: this one.'),
  topologyKey: always(3, string, 'Node label that says what is near.', { required: true }),
  namespaceSelector: pointer(4, labelSelector, 'Labels of their namespaces.'),
  matchLabelKeys: optional(5, list(string), 'Keys whose values must equal this Pod’s.'),
  mismatchLabelKeys: optional(6, list(string), 'Keys whose values must differ from this Pod’s.'),
});

const weightedPodAffinityTerm = struct(`${core}.WeightedPodAffinityTerm`, 'A preference to be near some Pods.', {
  weight: always(1, int32, 'How strong, from 1 to 100.', { required: true }),
  podAffinityTerm: always(2, podAffinityTerm, 'The Pods.', { required: true }),
});

const podAffinity = struct(`${core}.PodAffinity`, 'Pods to be near to.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(1, list(podAffinityTerm), 'Terms that must hold.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(weightedPodAffinityTerm),
    'Terms that are preferred.',
  ),
});

const podAntiAffinity = struct(`${core}.PodAntiAffinity`, 'Pods to be away from.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(1, list(podAffinityTerm), 'Terms that must hold.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(weightedPodAffinityTerm),
    'Terms that are preferred.',
  ),
});

export const affinity = struct(`${core}.Affinity`, 'Nodes and Pods to be near to.', {
  nodeAffinity: pointer(1, nodeAffinity, 'Nodes.'),
  podAffinity: pointer(2, podAffinity, 'Pods to be near to.'),
  podAntiAffinity: pointer(3, podAntiAffinity, 'Pods to be away from.'),
});

export const toleration = struct(`${core}.Toleration`, 'A taint the Pod puts up with.', {
  key: optional(1, string, 'Taint key; empty for all.'),
  operator: optional(2, oneOf('Exists', 'Equal'), 'Exists or Equal.'),
  value: optional(3, string, 'Taint value, for Equal.'),
  effect: optional(4, oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'), 'Taint effect; empty for all.'),
  tolerationSeconds: pointer(5, int64, 'How long NoExecute is put up with.'),
});

export const topologySpreadConstraint = struct(`${core}.TopologySpreadConstraint`, 'How evenly Pods are spread.', {
  maxSkew: always(1, int32, 'Greatest difference between domains.', { required: true }),
  topologyKey: always(2, string, 'Node label that names the domain.', { required: true }),
  whenUnsatisfiable: always(3, oneOf('DoNotSchedule', 'ScheduleAnyway'), 'DoNotSchedule or ScheduleAnyway.', {
    required: true,
  }),
  labelSelector: pointer(4, labelSelector, 'Pods to count.'),
  minDomains: pointer(5, int32, 'Least number of domains.'),
  nodeAffinityPolicy: pointer(6, string, 'Whether node affinity limits the nodes counted.'),
  nodeTaintsPolicy: pointer(7, string, 'Whether taints limit the nodes counted.'),
  matchLabelKeys: optional(8, list(string), 'Keys whose values must equal this Pod’s.'),
});
