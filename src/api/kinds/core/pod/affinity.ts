// Affinity, tolerations and topology spread constraints of Pods.
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

export const nodeSelector = atomic(
  struct(`${core}.NodeSelector`, 'Terms, at least one of which must match.', {
    nodeSelectorTerms: always(1, list(nodeSelectorTerm), 'The terms.', { required: true }),
  }),
);

const preferredSchedulingTerm = struct(`${core}.PreferredSchedulingTerm`, 'A preference for some nodes.', {
  weight: always(1, int32, 'Weight, from 1 to 100.', { required: true }),
  preference: always(2, nodeSelectorTerm, 'The nodes.', { required: true }),
});

const nodeAffinity = struct(`${core}.NodeAffinity`, 'Required and preferred nodes.', {
  requiredDuringSchedulingIgnoredDuringExecution: pointer(1, nodeSelector, 'Required nodes.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(2, list(preferredSchedulingTerm), 'Preferred nodes.'),
});

const podAffinityTerm = struct(`${core}.PodAffinityTerm`, 'Pods to be placed with, or apart from.', {
  labelSelector: pointer(1, labelSelector, 'Labels of the Pods.'),
  namespaces: optional(2, list(string), 'Their namespaces; default: this one.'),
  topologyKey: always(3, string, 'Node label with the topology domain.', { required: true }),
  namespaceSelector: pointer(4, labelSelector, 'Labels of their namespaces.'),
  matchLabelKeys: optional(5, list(string), 'Keys whose values must equal this Pod’s.'),
  mismatchLabelKeys: optional(6, list(string), 'Keys whose values must differ from this Pod’s.'),
});

const weightedPodAffinityTerm = struct(`${core}.WeightedPodAffinityTerm`, 'A weighted affinity term.', {
  weight: always(1, int32, 'Weight, from 1 to 100.', { required: true }),
  podAffinityTerm: always(2, podAffinityTerm, 'The Pods.', { required: true }),
});

const podAffinity = struct(`${core}.PodAffinity`, 'Pods to be placed with.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(1, list(podAffinityTerm), 'Terms that must hold.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(weightedPodAffinityTerm),
    'Terms that are preferred.',
  ),
});

const podAntiAffinity = struct(`${core}.PodAntiAffinity`, 'Pods to be placed apart from.', {
  requiredDuringSchedulingIgnoredDuringExecution: optional(1, list(podAffinityTerm), 'Terms that must hold.'),
  preferredDuringSchedulingIgnoredDuringExecution: optional(
    2,
    list(weightedPodAffinityTerm),
    'Terms that are preferred.',
  ),
});

export const affinity = struct(`${core}.Affinity`, 'Affinity to nodes and Pods.', {
  nodeAffinity: pointer(1, nodeAffinity, 'Nodes.'),
  podAffinity: pointer(2, podAffinity, 'Pods to be placed with.'),
  podAntiAffinity: pointer(3, podAntiAffinity, 'Pods to be placed apart from.'),
});

export const toleration = struct(`${core}.Toleration`, 'A taint that the Pod tolerates.', {
  key: optional(1, string, 'Taint key; empty for all.'),
  operator: optional(2, oneOf('Exists', 'Equal'), 'Exists or Equal.'),
  value: optional(3, string, 'Taint value, for Equal.'),
  effect: optional(4, oneOf('NoSchedule', 'PreferNoSchedule', 'NoExecute'), 'Taint effect; empty for all.'),
  tolerationSeconds: pointer(5, int64, 'How long a NoExecute taint is tolerated.'),
});

export const topologySpreadConstraint = struct(`${core}.TopologySpreadConstraint`, 'How evenly Pods are spread.', {
  maxSkew: always(1, int32, 'Maximum difference between domains.', { required: true }),
  topologyKey: always(2, string, 'Node label with the topology domain.', { required: true }),
  whenUnsatisfiable: always(3, oneOf('DoNotSchedule', 'ScheduleAnyway'), 'DoNotSchedule or ScheduleAnyway.', {
    required: true,
  }),
  labelSelector: pointer(4, labelSelector, 'Pods to count.'),
  minDomains: pointer(5, int32, 'Minimum number of domains.'),
  nodeAffinityPolicy: pointer(6, string, 'Whether node affinity limits the nodes counted.'),
  nodeTaintsPolicy: pointer(7, string, 'Whether taints limit the nodes counted.'),
  matchLabelKeys: optional(8, list(string), 'Keys whose values must equal this Pod’s.'),
});
