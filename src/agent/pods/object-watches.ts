// The ConfigMaps and Secrets that Pods of this machine refer to. A node may read no others, so each is watched by its name.
import type { Logger } from 'pino';
import type { Kind } from '../../api/kind.ts';
import { configMapKind } from '../../api/kinds/core/configmap/kind.ts';
import type { ConfigMap } from '../../api/kinds/core/configmap/schema.ts';
import { podReferences } from '../../api/kinds/core/pod/references.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import { secretKind } from '../../api/kinds/core/secret/kind.ts';
import type { Secret } from '../../api/kinds/core/secret/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Client } from '../../client/client.ts';
import type { Clock } from '../../client/clock.ts';
import { onAnyChange } from '../../client/handlers.ts';
import { Informer } from '../../client/informer.ts';
import type { ReferencedObjects } from '../environment/variables.ts';

export interface ObjectWatchesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Logger;
  /** Called with the UIDs of the Pods that refer to an object that changed. */
  readonly changed: (pods: Iterable<string>) => void;
}

interface Watched<T extends ApiObject> {
  readonly informer: Informer<T>;
  readonly stop: AbortController;
  /** UIDs of the Pods that refer to it. */
  readonly pods: Set<string>;
}

/** A first read that takes longer is reported as missing. */
const syncMs = 10_000;

export class ObjectWatches {
  readonly #options: ObjectWatchesOptions;
  readonly #configMaps = new Map<string, Watched<ConfigMap>>();
  readonly #secrets = new Map<string, Watched<Secret>>();

  constructor(options: ObjectWatchesOptions) {
    this.#options = options;
  }

  /** Watches what a Pod refers to, and resolves when it was read. */
  async use(pod: Pod): Promise<ReferencedObjects> {
    const { namespace = '', uid = '' } = pod.metadata;
    const signal = AbortSignal.timeout(syncMs);
    await Promise.all(
      podReferences(pod).map(async ({ resource, name }) => {
        if (resource === 'configmaps')
          await this.#add(configMapKind, this.#configMaps, { namespace, name, uid }, signal);
        if (resource === 'secrets') await this.#add(secretKind, this.#secrets, { namespace, name, uid }, signal);
      }),
    );
    return this.of(namespace);
  }

  /** The objects of a namespace that are watched. */
  of(namespace: string): ReferencedObjects {
    const key = (name: string): string => `${namespace}/${name}`;
    return {
      configMap: (name) => this.#configMaps.get(key(name))?.informer.get(key(name)),
      secret: (name) => this.#secrets.get(key(name))?.informer.get(key(name)),
    };
  }

  /** Ends the watches that only this Pod needed. */
  drop(uid: string): void {
    for (const map of [this.#configMaps, this.#secrets]) {
      for (const [key, { pods, stop }] of map) {
        if (!pods.delete(uid) || pods.size > 0) continue;
        stop.abort();
        map.delete(key);
      }
    }
  }

  close(): void {
    for (const map of [this.#configMaps, this.#secrets]) for (const { stop } of map.values()) stop.abort();
  }

  async #add<T extends ApiObject>(
    kind: Kind<T>,
    map: Map<string, Watched<T>>,
    { namespace, name, uid }: { readonly namespace: string; readonly name: string; readonly uid: string },
    signal: AbortSignal,
  ): Promise<void> {
    const key = `${namespace}/${name}`;
    const found = map.get(key) ?? this.#watch(kind, namespace, name);
    map.set(key, found);
    found.pods.add(uid);
    // What cannot be read in time is missing, and its Pod is tried again.
    await found.informer.synced(signal).catch(() => undefined);
  }

  #watch<T extends ApiObject>(kind: Kind<T>, namespace: string, name: string): Watched<T> {
    const { client, clock, log, changed } = this.#options;
    const stop = new AbortController();
    const pods = new Set<string>();
    const informer = new Informer<T>(client, kind, {
      namespace,
      fieldSelector: `metadata.name=${name}`,
      withoutManagedFields: true,
      clock,
      onError: (error) =>
        log.debug({ err: error, kind: kind.kind, namespace, name }, 'could not watch an object of a Pod'),
    });
    informer.subscribe(onAnyChange(() => changed(pods)));
    void informer.run(stop.signal); // it never rejects
    return { informer, stop, pods };
  }
}
