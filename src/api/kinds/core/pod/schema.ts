import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import type { container } from './container.ts';
import { podSpec, type podTemplateSpec } from './spec.ts';
import { podStatus, type containerStatus } from './status.ts';

export const pod = objectSchema(
  'io.k8s.api.core.v1.Pod',
  'Containers that run together on one node and share a network address.',
  {
    spec: always(2, podSpec, 'The desired state of the Pod.'),
    status: always(3, podStatus, 'The observed state of the Pod. Written by its node.'),
  },
);

export type Pod = Infer<typeof pod>;
export type PodSpec = Infer<typeof podSpec>;
export type PodTemplateSpec = Infer<typeof podTemplateSpec>;
export type Container = Infer<typeof container>;
export type ContainerStatus = Infer<typeof containerStatus>;
