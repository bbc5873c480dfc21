import type { Logger } from 'pino';
import type { Gates } from '../api/gates.ts';
import type { Client } from '../client/client.ts';
import type { EventRecorder } from '../client/events.ts';
import type { Key } from '../client/key.ts';
import type { QueueObserver } from '../client/queue.ts';
import { isRefusal } from '../client/transport.ts';
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

/** What a controller does with a failure: its queue tries again, so that this only says so. */
export const logFailure =
  (log: Logger, controller: string) =>
  (error: unknown, key: Key, failures: number): void => {
    // Somebody else wrote first: what is planned next starts from that.
    const level = isRefusal(error, 409) ? 'debug' : levelOf(error);
    log[level]({ controller, key, failures, err: error }, 'could not reconcile, will try again');
  };

/**
 * How loud to be about what is tried again. A server that cannot be reached fails everything there is, again and again: who
 * runs us says so once.
 */
export const levelOf = (error: unknown): 'warn' | 'debug' => (isUnreachable(error) ? 'debug' : 'warn');

/** ECONNREFUSED, ETIMEDOUT and their like. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && /^E[A-Z]+$/.test(String(error.code));
