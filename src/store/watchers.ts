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

/** The watches of an embedded store. Each has a position, so watches may start and end during a delivery. */
export class Watchers {
  readonly #watchers = new Set<Watcher>();

  /** Adds a watch and delivers `past`: the commits after `from`, up to `revision`. */
  add(start: WatchStart, past: readonly (readonly Change[])[], revision: number): void {
    const { prefix, from, observer, signal } = start;
    if (signal.aborted) return;
    const stop = (): void => void this.#watchers.delete(watcher);
    const watcher: Watcher = { prefix, observer, signal, position: from, stop };
    this.#watchers.add(watcher);
    signal.addEventListener('abort', stop, { once: true });
    deliver(watcher, past, revision);
  }

  /** Delivers commits to watches that have not received them; the last commit has `revision`. */
  publish(commits: readonly (readonly Change[])[], revision: number): void {
    for (const watcher of this.#watchers) deliver(watcher, commits, revision);
  }

  /** Ends every watch. */
  end(error: Error): void {
    for (const { observer, signal, stop } of this.#watchers) {
      stop();
      signal.removeEventListener('abort', stop);
      rethrowAsync(() => observer.onEnd(error));
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
  rethrowAsync(() => watcher.observer.onChanges(changes, revision));
}

/** Reports the error of an observer without interrupting the store. */
function rethrowAsync(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
