import type { EndpointSlice } from '../../src/api/kinds/discovery/endpointslice/schema.ts';
import { endpointSliceKind } from '../../src/api/kinds/discovery/endpointslice/kind.ts';
import type { Client } from '../../src/client/client.ts';
import { Informer } from '../../src/client/informer.ts';

/** Counts changes of the imported slices of a cluster. */
export class SliceEvents implements AsyncDisposable {
  writes = 0;
  deletions = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  readonly #informer: Informer<EndpointSlice>;

  private constructor(client: Client) {
    this.#informer = new Informer(client, endpointSliceKind, {
      labelSelector: 'multicluster.kubernetes.io/source-cluster',
    });
    this.#running = this.#informer.run(this.#stop.signal);
  }

  /** Counts from now on. */
  static async start(client: Client): Promise<SliceEvents> {
    const events = new SliceEvents(client);
    await events.#informer.synced();
    events.#informer.subscribe({
      added: () => events.writes++,
      updated: () => events.writes++,
      deleted: () => events.deletions++,
    });
    events.writes = 0;
    return events;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}
