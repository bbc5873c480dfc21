import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always } from '../../../schema/schema.ts';
import { nodeSpec } from './spec.ts';
import { nodeStatus } from './status.ts';

/** A machine that runs Pods. */
export const node = objectSchema('io.k8s.api.core.v1.Node', 'A machine that runs Pods.', {
  spec: always(2, nodeSpec, 'What the node should be.'),
  status: always(3, nodeStatus, 'What the node is. Written by its agent.'),
});

export type Node = Infer<typeof node>;
