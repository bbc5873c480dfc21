import type { Node } from '../../api/kinds/core/node/schema.ts';

/**
 * Whether a node reports that it runs Pods. Nodes that users write by hand have no conditions, and nothing runs their Pods;
 * in Kubernetes, such nodes have the taint not-ready.
 */
export const isReadyNode = ({ status }: Node): boolean =>
  status.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
