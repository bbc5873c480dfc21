import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import type { BackoffOptions, Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep, systemClock } from '../../client/clock.ts';
import type { RunningPart } from '../../client/part.ts';

export interface SuperviseOptions {
  /** Starts the part; called again after a failure. */
  readonly start: () => RunningPart;
  /** Whether to start again after a failure before the part was ready for the first time; default true. */
  readonly retriesFirstStart?: boolean;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** A part that is restarted when it fails. */
export interface SupervisedPart extends RunningPart {
  /** Resolves when the part is ready for the first time; rejects when its first start fails. */
  readonly ready: Promise<void>;
  readonly restarts: number;
}

const backoff: BackoffOptions = { baseMs: 1000, maxMs: 60_000 };
/** A run of this length resets the backoff. */
const steadyMs = 60_000;

/**
 * Keeps a part running:
 *
 *     start ─► ready ─► runs ─► fails, at any time: dispose, wait 1 s to 60 s ─┐
 *       ▲──────────────────────────────────────────────────── restart ─────────┘
 */
export function supervise(options: SuperviseOptions): SupervisedPart {
  const { log, retriesFirstStart = true, clock = systemClock, random = Math.random } = options;
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  let current: RunningPart | undefined;
  let problem = 'the component is starting';
  let wasReady = false;
  let restarts = 0;

  const runOnce = async (): Promise<void> => {
    const stopped = Promise.withResolvers<void>();
    const onStop = (): void => stopped.resolve();
    stop.signal.addEventListener('abort', onStop);
    try {
      current = options.start();
      const failed = current.failed ?? new Promise<never>(() => undefined);
      await Promise.race([current.ready, failed, stopped.promise]);
      if (stop.signal.aborted) return;
      problem = '';
      wasReady = true;
      ready.resolve();
      await Promise.race([failed, stopped.promise]);
    } finally {
      stop.signal.removeEventListener('abort', onStop);
      const last = current;
      current = undefined;
      await last?.[Symbol.asyncDispose]();
    }
  };
  const run = async (): Promise<void> => {
    for (let failures = 0; !stop.signal.aborted;) {
      const startedAt = clock.elapsed();
      try {
        await runOnce();
      } catch (error) {
        if (stop.signal.aborted) return log.error({ err: error }, 'component failed to stop');
        ready.reject(error);
        if (!wasReady && !retriesFirstStart) return;
        failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
        const waitMs = Math.round(backoffMs(backoff, failures, random));
        problem = `the component failed and is restarted: ${messageOf(error)}`;
        log.error({ err: error, waitMs }, 'component failed, retrying');
        await sleep(clock, waitMs, stop.signal);
        restarts++;
      }
    }
  };
  // Callers that do not wait for readiness read `problems` instead.
  ready.promise.catch(() => undefined);
  const running = run();
  return {
    ready: ready.promise,
    get listens() {
      return current?.listens ?? [];
    },
    get pageUrl() {
      return current?.pageUrl;
    },
    get restarts() {
      return restarts;
    },
    problems() {
      const own = current?.problems() ?? [];
      return own.length > 0 || problem === '' ? own : [problem];
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
