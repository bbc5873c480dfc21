// What is told about a Service, in upstream's words.
import type { PlannedEvent } from '../../client/event-correlator.ts';

/** Something that went as it should. */
export const normal = (reason: string, message: string): PlannedEvent => ({ type: 'Normal', reason, message });

/** Something that a person may have to look at. */
export const warning = (reason: string, message: string): PlannedEvent => ({ type: 'Warning', reason, message });

/** The load balancer has nowhere to send to. */
export const noNodes = warning('UnAvailableLoadBalancer', 'There are no available nodes for LoadBalancer');

/** A load balancer could not be brought to what its Service asks for. */
export const syncFailed = (why: string): PlannedEvent =>
  warning('SyncLoadBalancerFailed', `Error syncing load balancer: ${why}`);
