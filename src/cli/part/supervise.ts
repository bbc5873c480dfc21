import type { Logger } from 'pino';
import { messageOf } from '../../api/error-message.ts';
import type { BackoffOptions, Clock, Random } from '../../client/clock.ts';
import { backoffMs, sleep, systemClock } from '../../client/clock.ts';
import type { RunningPart } from '../../client/part.ts';

export interface SuperviseOptions {
  /** Starts the part; called again when it has failed. */
  readonly start: () => RunningPart;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** A part that is started again when it fails. */
export interface SupervisedPart extends RunningPart {
  /** Resolves at the first readiness; rejects when the first start fails, after which the part is started again. */
  readonly ready: Promise<void>;
  /** How often it has been started again. */
  readonly restarts: number;
}

const backoff: BackoffOptions = { baseMs: 1000, maxMs: 60_000 };
/** A part that ran for this long has earned a quick restart. */
const steadyMs = 60_000;

/**
 * Keeps a part running:
 *
 *     start ─► ready ─► runs ─► fails, also before it is ready: dispose, wait 1 s to 60 s ─┐
 *       ▲────────────────────────────────────────────────────────────────── start again ───┘
 */
export function supervise(options: SuperviseOptions): SupervisedPart {
  const { log, clock = systemClock, random = Math.random } = options;
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  let current: RunningPart | undefined;
  let trouble = 'it is starting';
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
      trouble = '';
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
        if (stop.signal.aborted) return log.error({ err: error }, 'the part did not stop well');
        ready.reject(error);
        failures = clock.elapsed() - startedAt >= steadyMs ? 1 : failures + 1;
        const waitMs = Math.round(backoffMs(backoff, failures, random));
        trouble = `it failed and is started again: ${messageOf(error)}`;
        log.error({ err: error, waitMs }, 'the part failed: it is started again');
        await sleep(clock, waitMs, stop.signal);
        restarts++;
      }
    }
  };
  // Nobody has to wait for it: who does not is told by `problems`.
  ready.promise.catch(() => undefined);
  const running = run();
  return {
    ready: ready.promise,
    get listens() {
      return current?.listens ?? [];
    },
    get restarts() {
      return restarts;
    },
    problems() {
      const own = current?.problems() ?? [];
      return own.length > 0 || trouble === '' ? own : [trouble];
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}
