/** Something that collects output and can send it in one go. */
export interface Flushable {
  flush(): void;
}

/** Sends what watchers collected once per turn of the event loop, so that a burst of changes is one write a watcher. */
export class Flusher {
  #dirty: Flushable[] = [];

  schedule(item: Flushable): void {
    this.#dirty.push(item);
    if (this.#dirty.length === 1) setImmediate(() => this.#flushAll());
  }

  #flushAll(): void {
    const items = this.#dirty;
    this.#dirty = [];
    for (const item of items) item.flush();
  }
}
