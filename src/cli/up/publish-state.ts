import { setInterval } from '../../machine/timers.ts';
import type { DataDirectory } from './data-directory.ts';
import type { State } from './state.ts';
import { printState, stateFile } from './state.ts';

/** Parts do not say when something begins to trouble them; they are asked. */
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
    // A file that could not be written says what was so before; the next change is another try.
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
