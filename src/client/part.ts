import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Client } from './client.ts';

/** What a part of the control plane is given: a cluster to work on, and where to tell what it does. */
export interface PartContext {
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** A part at work. Disposing of it stops it, after what it is in the middle of. */
export interface RunningPart extends AsyncDisposable {
  /** Resolves when it has seen everything there is, and does its work. Rejects when it cannot, and never will. */
  readonly ready: Promise<void>;
  /** What keeps it from its work now, each a sentence; none when all is well. `/readyz` tells them. */
  problems(): readonly string[];
  /** Where clients of its own reach it; left out: it has none. */
  readonly listens?: readonly { readonly address: string; readonly port: number }[];
  /** Rejects when it has stopped by itself, with why; it is disposed of and started again. Left out: it never does. */
  readonly failed?: Promise<never>;
}
