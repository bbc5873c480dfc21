// Watches for the end of a process that is not a child of this one.
import { setInterval } from '../../machine/timers.ts';
import type { ProcessId } from './identity.ts';
import { identityOf } from './identity.ts';
import type { Pidfd, ProcessCalls } from './native.ts';

/** How a process ended; undefined: it ended while no agent could see it. */
export type Exit = { readonly exitCode: number; readonly signal?: number } | undefined;

interface EndingWatch {
  readonly ended: Promise<Exit>;
  readonly stop: () => void;
}

/** How often a process is looked at that cannot be watched. */
const pollMs = 500;

/** Watches a process, which may have ended already. */
export function watchEnding(calls: ProcessCalls, { pid, identity }: ProcessId): EndingWatch {
  const pidfd = calls.pidfd(pid);
  const isAlive = (): boolean => identityOf(pid) === identity;
  if (isAlive()) return pidfd === undefined ? endingByPolls(isAlive) : endingOf(pidfd);
  pidfd?.[Symbol.dispose]();
  return { ended: Promise.resolve(undefined), stop: () => undefined };
}

function endingOf(pidfd: Pidfd): EndingWatch {
  const ended = new Promise<Exit>((resolve) => {
    pidfd.onExit(() => {
      const status = pidfd.waitStatus();
      pidfd[Symbol.dispose]();
      resolve(status === undefined ? undefined : exitOf(status));
    });
  });
  return { ended, stop: () => pidfd[Symbol.dispose]() };
}

/** The meaning of a wait status. */
function exitOf(status: number): NonNullable<Exit> {
  const signal = status & 0x7f;
  return signal === 0 ? { exitCode: (status >> 8) & 0xff } : { exitCode: 128 + signal, signal };
}

function endingByPolls(isAlive: () => boolean): EndingWatch {
  const { promise, resolve } = Promise.withResolvers<Exit>();
  const timer = setInterval(() => {
    if (isAlive()) return;
    clearInterval(timer);
    resolve(undefined);
  }, pollMs);
  return { ended: promise, stop: () => clearInterval(timer) };
}
