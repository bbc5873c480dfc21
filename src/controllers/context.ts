import type { Logger } from 'pino';
import type { Gates } from '../api/gates.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/events.ts';
import type { QueueObserver } from '../client/queue.ts';
import type { Caches } from './caches.ts';
import type { ControllersMetrics } from './metrics.ts';
import type { ControllersOptions } from './options.ts';

/** What every controller is given. */
export interface ControllerContext {
  readonly client: Client;
  readonly caches: Caches;
  readonly gates: Gates;
  readonly options: ControllersOptions;
  readonly metrics: ControllersMetrics;
  readonly log: Logger;
  /** Writes Events in the name of a controller. */
  recorder(component: string): EventRecorder;
  /** Counts what a queue does, under the name that kube-controller-manager has for it. */
  observer(queue: string): QueueObserver;
}
