// How often the controllers of workloads reconcile an object.

/** Changes within this time cause one sync: the Pods of a workload often change together. */
export const coalesceMs = 100;

/** When a sync is tried again that waits for the controller's own writes to reach the cache. */
export const pendingMs = 1000;
