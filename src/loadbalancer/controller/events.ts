// Events of the service controller, worded as in Kubernetes.
import type { PlannedEvent } from '../../client/event-correlator.ts';

export const normal = (reason: string, message: string): PlannedEvent => ({ type: 'Normal', reason, message });

export const warning = (reason: string, message: string): PlannedEvent => ({ type: 'Warning', reason, message });

export const noNodes = warning('UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer');

export const syncFailed = (why: string): PlannedEvent =>
  warning('SyncLoadBalancerFailed', `Error syncing load balancer: ${why}`);
