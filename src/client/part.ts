import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Client } from './client.ts';
import type { Clock } from './clock.ts';
import type { EventRecorder } from './events.ts';
import type { Informers } from './informers.ts';
import type { LeaderElectionOptions } from './leadership.ts';
import { Leadership } from './leadership.ts';

/** The dependencies of a part of the control plane. */
export interface PartContext {
  readonly client: Client;
  readonly log: Logger;
  readonly metrics: Registry;
}

/** A running part. Disposing of it waits for work in progress and stops it. */
export interface RunningPart extends AsyncDisposable {
  /** Resolves when the part has synced and works. Rejects if it cannot start. */
  readonly ready: Promise<void>;
  /** Sentences about current problems, which `/readyz` reports; empty if the part is ready. */
  problems(): readonly string[];
  /** The addresses that it listens on for clients. */
  readonly listens?: readonly { readonly address: string; readonly port: number }[];
  /** The address of its page for people, if it has one. It contains a secret. */
  readonly pageUrl?: string | undefined;
  /** Rejects if the part fails at run time; its runner then disposes of it and starts it again. */
  readonly failed?: Promise<never>;
}

/** A part that runs in several replicas; the elected leader acts. */
export interface ElectedPart {
  readonly context: PartContext;
  /** The part is ready when the started informers have synced. All of them are stopped at the end. */
  readonly informers: Informers;
  /** undefined: this is the only replica, and it acts at once. */
  readonly election: LeaderElectionOptions | undefined;
  readonly clock?: Clock | undefined;
  /** The work of the leader. `term` fires when the leadership ends. */
  readonly lead: (term: AbortSignal) => Promise<void>;
  /** Work that every replica does. */
  readonly onEveryReplica?: (signal: AbortSignal) => Promise<void>;
  /** Additional condition of readiness. */
  readonly synced?: (signal: AbortSignal) => Promise<void>;
  /** Additional problems. */
  readonly problems?: () => readonly string[];
  /** Recorders to flush before the part ends. */
  readonly recorders?: () => Iterable<EventRecorder>;
}

/** Runs a part until it is disposed of. Informers run on every replica, so that a new leader starts quickly. */
export function runElectedPart(part: ElectedPart): RunningPart {
  const { context, informers, election, clock } = part;
  const stop = new AbortController();
  const { signal } = stop;
  const failure = Promise.withResolvers<never>();
  const leadership = new Leadership({ ...context, election, clock });
  const running = Promise.all([part.onEveryReplica?.(signal), leadership.run(part.lead, signal)]).catch(
    (error: unknown) => {
      failure.reject(error); // the runner of the part reports it and restarts the part
    },
  );
  const ready = (async (): Promise<void> => {
    await Promise.all([informers.synced(signal), part.synced?.(signal), leadership.decided(signal)]);
  })();
  // Callers need not await either promise: `problems` reports the same.
  ready.catch(() => undefined);
  failure.promise.catch(() => undefined);
  return {
    ready,
    failed: failure.promise,
    problems: () => [...informers.unsynced(), ...leadership.problems(), ...(part.problems?.() ?? [])],
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
      await informers.stop();
      await Promise.all(Array.from(part.recorders?.() ?? [], (recorder) => recorder.flush()));
    },
  };
}
