import { nodeKind } from '../../api/kinds/core/node/kind.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Client } from '../../client/client.ts';
import { Informer } from '../../client/informer.ts';
import type { ServiceSlices } from '../slices.ts';
import { serviceSlices } from '../slices.ts';

export interface CachesOptions {
  readonly client: Client;
  /** Whether EndpointSlices matter; there are many. */
  readonly followsSlices: boolean;
  /** Told of watches that failed. */
  readonly onWatchError?: ((kind: string, error: unknown) => void) | undefined;
}

/** What the controller knows of the cluster. */
export class Caches {
  readonly services: Informer<Service>;
  readonly nodes: Informer<Node>;
  readonly slices: ServiceSlices | undefined;

  constructor({ client, followsSlices, onWatchError }: CachesOptions) {
    const watching = (plural: string) => ({ onError: (error: unknown) => onWatchError?.(plural, error) });
    this.services = new Informer(client, serviceKind, { ...watching('services'), trim: withoutManagers });
    this.nodes = new Informer(client, nodeKind, { ...watching('nodes'), trim: withoutManagers });
    if (followsSlices) this.slices = serviceSlices(client, { ...watching('endpointslices'), trim: withoutManagers });
  }

  /** Keeps them filled until the signal fires. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map(([, informer]) => informer.run(signal)));
  }

  /** Resolves when everything was seen once. */
  async synced(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all.map(([, informer]) => informer.synced(signal)));
  }

  /** What is not seen yet. */
  get unsynced(): readonly string[] {
    return this.#all.flatMap(([plural, { hasSynced }]) => (hasSynced ? [] : [plural]));
  }

  get #all() {
    return [
      ['services', this.services],
      ['nodes', this.nodes],
      ...(this.slices === undefined ? [] : [['endpointslices', this.slices] as const]),
    ] as const;
  }
}

const withoutManagers = <T extends Service | Node | EndpointSlice>(object: T): T => {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
};
