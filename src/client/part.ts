import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { Client } from './client.ts';
import type { Clock } from './clock.ts';
import type { EventRecorder } from './events.ts';
import type { Informers } from './informers.ts';
import type { LeaderElectionOptions } from './leadership.ts';
import { Leadership } from './leadership.ts';

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

/** A part of which several processes may run and one acts. */
export interface ElectedPart {
  readonly context: PartContext;
  /** What it reads. Those that were started are complete before the part is ready; all are stopped at the end. */
  readonly informers: Informers;
  /** undefined: this is the only process, and it acts at once. */
  readonly election: LeaderElectionOptions | undefined;
  readonly clock?: Clock | undefined;
  /** Everything that only the leader does, until the signal of its term fires. */
  readonly lead: (term: AbortSignal) => Promise<void>;
  /** What every process does, leader or not, until the signal fires. */
  readonly onEveryReplica?: (signal: AbortSignal) => Promise<void>;
  /** What the part waits for before it is ready, besides its informers and a leader. */
  readonly synced?: (signal: AbortSignal) => Promise<void>;
  /** What else keeps it from its work now. */
  readonly problems?: () => readonly string[];
  /** The recorders whose events are sent before it ends. */
  readonly recorders?: () => Iterable<EventRecorder>;
}

/** Runs a part until it is disposed of. Informers fill whether or not this process leads, so that a takeover is quick. */
export function runElectedPart(part: ElectedPart): RunningPart {
  const { context, informers, election, clock } = part;
  const stop = new AbortController();
  const { signal } = stop;
  const failure = Promise.withResolvers<never>();
  const leadership = new Leadership({ ...context, election, clock });
  const running = Promise.all([part.onEveryReplica?.(signal), leadership.run(part.lead, signal)]).catch(
    (error: unknown) => {
      failure.reject(error); // whoever runs the part reports it and starts the part again
    },
  );
  const ready = (async (): Promise<void> => {
    await Promise.all([informers.synced(signal), part.synced?.(signal), leadership.decided(signal)]);
  })();
  // Nobody has to wait for either: `problems` reports the same.
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
