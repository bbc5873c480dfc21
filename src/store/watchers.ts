import type { Change, WatchObserver } from './store.ts';

interface Watcher {
  readonly prefix: string;
  readonly observer: WatchObserver;
  readonly signal: AbortSignal;
  /** All changes up to this revision have been delivered. */
  position: number;
  readonly stop: () => void;
}

export interface WatchStart {
  readonly prefix: string;
  readonly from: number;
  readonly observer: WatchObserver;
  readonly signal: AbortSignal;
}

/** The watches on an embedded store. Each knows how far it is, so it may begin or end in the middle of a delivery. */
export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** Adds a watch and delivers the past to it; `past` are the commits after `from`, up to `revision`. */
  add(start: WatchStart, past: readonly (readonly Change[])[], revision: number): void {
    const { prefix, from, observer, signal } = start;
    if (signal.aborted) return;
    const stop = (): void => void this.#watchers.delete(watcher);
    const watcher: Watcher = { prefix, observer, signal, position: from, stop };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', stop, { once: true });
    deliver(watcher, past, revision);
  }

  /** Delivers commits, of which the last has `revision`, to those that have not seen them. */
  publish(commits: readonly (readonly Change[])[], revision: number): void {
    for (const watcher of this.#watchers) deliver(watcher, commits, revision);
  }

  /** Ends every watch. */
  end(error: Error): void {
    for (const { observer, signal, stop } of this.#watchers) {
      stop();
      signal.removeEventListener('abort', stop);
      guarded(() => observer.onEnd(error));
    }
  }
}

function deliver(watcher: Watcher, commits: readonly (readonly Change[])[], revision: number): void {
  const changes: Change[] = [];
  for (const commit of commits) {
    for (const change of commit) {
      if (change.revision > watcher.position && change.key.startsWith(watcher.prefix)) changes.push(change);
    }
  }
  watcher.position = Math.max(watcher.position, revision);
  if (changes.length === 0 || watcher.signal.aborted) return;
  guarded(() => watcher.observer.onChanges(changes, revision));
}

/** An observer that throws is a bug of its own: it must be seen, but must not stop the store half-way. */
function guarded(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
