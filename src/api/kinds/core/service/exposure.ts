import type { Service } from './schema.ts';

/** Whether the Service has no virtual address by choice. */
export const isHeadless = ({ spec: { clusterIPs } }: Service): boolean =>
  clusterIPs?.length === 1 && clusterIPs[0] === 'None';

/** Whether traffic from outside the cluster can reach the Service. */
export const isExternallyAccessible = ({ spec }: Pick<Service, 'spec'>): boolean =>
  spec.type === 'NodePort' ||
  spec.type === 'LoadBalancer' ||
  (spec.type === 'ClusterIP' && spec.externalIPs !== undefined && spec.externalIPs.length > 0);
