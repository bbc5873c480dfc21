import type { SlowPathClient } from './slow-path-client.ts';
import type { Responder } from './responder.ts';

/** What a listener answers with. */
export interface WorkerContext {
  readonly responder: Responder;
  readonly slowPath: SlowPathClient;
}

/** Something that takes queries in a worker. */
export interface Listener {
  /** Takes nothing new and resolves when all that had come is answered, or waits for the main thread. */
  drain(): Promise<void>;
  /** Frees everything at once. */
  close(): void;
}
