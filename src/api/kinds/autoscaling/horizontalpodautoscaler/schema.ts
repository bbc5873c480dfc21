import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  int32,
  int64,
  list,
  listMap,
  oneOf,
  optional,
  pointer,
  quantity,
  string,
  struct,
  time,
} from '../../../schema/schema.ts';

const v2 = 'io.k8s.api.autoscaling.v2';

const crossVersionObjectReference = struct(`${v2}.CrossVersionObjectReference`, 'Identifies an object.', {
  kind: always(1, string, 'Kind of the object.', { required: true }),
  name: always(2, string, 'Name of the object.', { required: true }),
  apiVersion: optional(3, string, 'API version of the object.'),
});

const metricIdentifier = struct(`${v2}.MetricIdentifier`, 'The name of a metric.', {
  name: always(1, string, 'Name of the metric.', { required: true }),
  selector: pointer(2, labelSelector, 'Labels that select the values of the metric.'),
});

const metricTarget = struct(`${v2}.MetricTarget`, 'The desired value of a metric.', {
  type: always(1, string, 'Utilization, Value or AverageValue.', { required: true }),
  value: pointer(2, quantity, 'Desired value.'),
  averageValue: pointer(3, quantity, 'Desired average over all Pods.'),
  averageUtilization: pointer(4, int32, 'Desired average over all Pods, in percent of the requested resources.'),
});

const metricValueStatus = struct(`${v2}.MetricValueStatus`, 'The current value of a metric.', {
  value: pointer(1, quantity, 'Current value.'),
  averageValue: pointer(2, quantity, 'Current average over all Pods.'),
  averageUtilization: pointer(3, int32, 'Current average over all Pods, in percent of the requested resources.'),
});

const target = (number: number) => always(number, metricTarget, 'The desired value.', { required: true });
const current = (number: number) => always(number, metricValueStatus, 'The current value.', { required: true });
const metric = (number: number) => always(number, metricIdentifier, 'The metric.', { required: true });
const resourceName = always(1, string, 'Name of the resource, such as cpu.', { required: true });
const container = always(3, string, 'Name of the container.', { required: true });
const describedObject = (number: number) =>
  always(number, crossVersionObjectReference, 'The object that the metric describes.', { required: true });

const objectMetricSource = struct(`${v2}.ObjectMetricSource`, 'A metric of one object.', {
  describedObject: describedObject(1),
  target: target(2),
  metric: metric(3),
});
const podsMetricSource = struct(`${v2}.PodsMetricSource`, 'A metric of each Pod.', {
  metric: metric(1),
  target: target(2),
});
const resourceMetricSource = struct(`${v2}.ResourceMetricSource`, 'A resource of each Pod, such as CPU.', {
  name: resourceName,
  target: target(2),
});
const containerResourceMetricSource = struct(
  `${v2}.ContainerResourceMetricSource`,
  'A resource of one container of each Pod.',
  { name: resourceName, target: target(2), container },
);
const externalMetricSource = struct(`${v2}.ExternalMetricSource`, 'A metric from outside of the cluster.', {
  metric: metric(1),
  target: target(2),
});

const sourceType = always(1, string, 'ContainerResource, External, Object, Pods or Resource.', { required: true });

const metricSpec = struct(`${v2}.MetricSpec`, 'A metric to scale by: its type, and the field of that type.', {
  type: sourceType,
  object: pointer(2, objectMetricSource, 'A metric of one object.'),
  pods: pointer(3, podsMetricSource, 'A metric of each Pod.'),
  resource: pointer(4, resourceMetricSource, 'A resource of each Pod.'),
  containerResource: pointer(7, containerResourceMetricSource, 'A resource of one container of each Pod.'),
  external: pointer(5, externalMetricSource, 'A metric from outside of the cluster.'),
});

const metricStatus = struct(`${v2}.MetricStatus`, 'The last value of a metric.', {
  type: sourceType,
  object: pointer(
    2,
    struct(`${v2}.ObjectMetricStatus`, 'The value of a metric of one object.', {
      metric: metric(1),
      current: current(2),
      describedObject: describedObject(3),
    }),
    'The value of a metric of one object.',
  ),
  pods: pointer(
    3,
    struct(`${v2}.PodsMetricStatus`, 'The value of a metric of each Pod.', { metric: metric(1), current: current(2) }),
    'The value of a metric of each Pod.',
  ),
  resource: pointer(
    4,
    struct(`${v2}.ResourceMetricStatus`, 'The value of a resource.', { name: resourceName, current: current(2) }),
    'The value of a resource.',
  ),
  containerResource: pointer(
    7,
    struct(`${v2}.ContainerResourceMetricStatus`, 'The value of a resource of one container.', {
      name: resourceName,
      current: current(2),
      container,
    }),
    'The value of a resource of one container.',
  ),
  external: pointer(
    5,
    struct(`${v2}.ExternalMetricStatus`, 'The value of an external metric.', {
      metric: metric(1),
      current: current(2),
    }),
    'The value of an external metric.',
  ),
});

const scalingPolicy = struct(`${v2}.HPAScalingPolicy`, 'A limit of how fast the number of Pods changes.', {
  type: always(1, string, 'Pods or Percent.', { required: true }),
  value: always(2, int32, 'The largest change.', { required: true }),
  periodSeconds: always(3, int32, 'The period of the change, at most 1800 seconds.', { required: true }),
});

const scalingRules = struct(`${v2}.HPAScalingRules`, 'How the number of Pods changes in one direction.', {
  stabilizationWindowSeconds: pointer(3, int32, 'Seconds of past recommendations that are considered, at most 3600.'),
  selectPolicy: pointer(1, oneOf('Max', 'Min', 'Disabled'), 'Which policy applies; default: Max.'),
  policies: pointer(2, list(scalingPolicy), 'The limits.'),
  tolerance: pointer(4, quantity, 'The difference of a metric from its target that has no effect, such as 0.01.'),
});

const behavior = struct(`${v2}.HorizontalPodAutoscalerBehavior`, 'How the number of Pods changes.', {
  scaleUp: pointer(1, scalingRules, 'How it grows.'),
  scaleDown: pointer(2, scalingRules, 'How it shrinks.'),
});

const condition = struct(`${v2}.HorizontalPodAutoscalerCondition`, 'One aspect of the state of an autoscaler.', {
  type: always(1, string, 'Type of the condition.', { required: true }),
  status: always(2, string, 'True, False or Unknown.', { required: true }),
  lastTransitionTime: always(3, time, 'When the status last changed.'),
  reason: optional(4, string, 'Reason, as one CamelCase word.'),
  message: optional(5, string, 'Human-readable message.'),
});

const spec = struct(`${v2}.HorizontalPodAutoscalerSpec`, 'What is scaled, and by which metrics.', {
  scaleTargetRef: always(1, crossVersionObjectReference, 'The workload whose replicas change.', { required: true }),
  minReplicas: pointer(2, int32, 'Smallest number of Pods; default: 1.'),
  maxReplicas: always(3, int32, 'Largest number of Pods.', { required: true }),
  metrics: optional(4, list(metricSpec), 'The metrics; default: 80 % of the requested CPU. The largest result counts.'),
  behavior: pointer(5, behavior, 'How the number of Pods changes.'),
});

const status = struct(`${v2}.HorizontalPodAutoscalerStatus`, 'The state of an autoscaler.', {
  observedGeneration: pointer(1, int64, 'The generation this status reflects.'),
  lastScaleTime: pointer(2, time, 'When the number of Pods last changed.'),
  currentReplicas: optional(3, int32, 'Observed number of Pods.'),
  desiredReplicas: always(4, int32, 'Number of Pods that the autoscaler requested.', { required: true }),
  currentMetrics: always(5, list(metricStatus), 'The last values of the metrics.'),
  conditions: optional(6, listMap(condition, ['type'], { mergeKey: 'type' }), 'State of the autoscaler.'),
});

/** Changes the number of Pods of a workload by metrics. */
export const horizontalPodAutoscaler = objectSchema(
  `${v2}.HorizontalPodAutoscaler`,
  'Changes the number of Pods of a workload by metrics.',
  {
    spec: always(2, spec, 'What is scaled, and by which metrics.'),
    status: always(3, status, 'The state of the autoscaler.'),
  },
);

export type HorizontalPodAutoscaler = Infer<typeof horizontalPodAutoscaler>;
export type MetricSpec = Infer<typeof metricSpec>;
export type MetricStatus = Infer<typeof metricStatus>;
export type MetricTarget = Infer<typeof metricTarget>;
export type MetricValue = Infer<typeof metricValueStatus>;
export type ScalingRules = Infer<typeof scalingRules>;
export type ObjectReference = Infer<typeof crossVersionObjectReference>;
