import { setInterval } from '../../machine/timers.ts';
import type { DataDirectory } from './data-directory.ts';
import type { State } from './state.ts';
import { printState, stateFile } from './state.ts';

/** Problems of parts are polled, because parts do not notify about them. */
const lookMs = 2000;

/** Writes state.json, writes it again when it has changed, and removes it at the end. */
export async function publishState(
  directory: DataDirectory,
  state: () => State,
  everyMs = lookMs,
): Promise<AsyncDisposable> {
  let written = printState(state());
  await directory.write(stateFile, written);
  let writing: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    const next = printState(state());
    if (next === written || directory.lost.aborted) return;
    written = next;
    // The file keeps its old content; the next change writes it again.
    writing = writing.then(() => directory.write(stateFile, next)).catch(() => undefined);
  }, everyMs).unref();
  return {
    async [Symbol.asyncDispose]() {
      clearInterval(timer);
      await writing;
      if (!directory.lost.aborted) await directory.remove(stateFile);
    },
  };
}
