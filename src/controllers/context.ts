import type { Logger } from 'pino';
import type { Gates } from '../api/gates.ts';
import type { Kind } from '../api/kind.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/events.ts';
import type { QueueObserver } from '../client/queue.ts';
import type { Caches } from './caches.ts';
import type { ControllersMetrics } from './metrics.ts';
import type { ControllersOptions } from './options.ts';
import type { WorkloadCaches } from './workloads/caches.ts';

/** The dependencies of every controller. */
export interface ControllerContext {
  readonly client: Client;
  readonly caches: Caches;
  /** Of the kinds that only controllers of workloads read. */
  readonly workloads: WorkloadCaches;
  readonly gates: Gates;
  readonly options: ControllersOptions;
  readonly metrics: ControllersMetrics;
  readonly log: Logger;
  /** How often the watch of a kind failed or worked again: if that changed, its cache may have been behind. */
  interruptions(kind: Kind): number;
  /** The Event recorder of a component. */
  recorder(component: string): EventRecorder;
  /** The metrics observer of a queue; `queue` is its name in kube-controller-manager. */
  observer(queue: string): QueueObserver;
}
