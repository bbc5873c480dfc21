import { setInterval } from '../../machine/timers.ts';
import type { DataDirectory } from './data-directory.ts';

/** The content of `state.json`, for other programs. */
export interface State {
  readonly clusters: readonly ClusterState[];
  /** The address of the dashboard, with the secret that signs in. Absent while none runs. */
  readonly dashboard?: string;
  readonly pid: number;
}

export interface ClusterState {
  readonly name: string;
  /** URL of the API server. */
  readonly server: string;
  /** Absent while no DNS server runs. */
  readonly dns?: { readonly address: string; readonly port: number };
  /** The zones of the DNS server. */
  readonly zones: readonly string[];
  readonly serviceCIDRs: readonly string[];
  /** The parts beside the server, with their problems. */
  readonly parts: readonly PartState[];
}

export interface PartState {
  readonly name: string;
  readonly problems: readonly string[];
  /** Flag → its values: the actions of the part's command need them to show what the part does. */
  readonly flags?: Readonly<Record<string, readonly string[]>>;
}

/** The file in the data directory that holds the state: written when ready and when it changes, removed on exit. */
export const stateFile = 'state.json';

/** The text of the file. */
export const printState = (state: State): string => `${JSON.stringify(state, undefined, 2)}\n`;

/** Problems of parts are polled, because parts do not notify about them. */
const pollMs = 2000;

/** Writes state.json, writes it again when it has changed, and removes it at the end. */
export async function publishState(
  directory: DataDirectory,
  state: () => State,
  everyMs = pollMs,
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
