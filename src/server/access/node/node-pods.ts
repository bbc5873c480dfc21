import { podKind } from '../../../api/kinds/core/pod/kind.ts';
import { podReferences } from '../../../api/kinds/core/pod/references.ts';
import type { Pod } from '../../../api/kinds/core/pod/schema.ts';
import { getOrCompute } from '../../../api/maps.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';

/** An annotation of Pods that a node created for what it runs on its own. */
export const mirrorAnnotation = 'kubernetes.io/config.mirror';

interface BoundPod {
  readonly node: string;
  /** Identifies what references are computed from. */
  readonly version: string;
  /** `resource/namespace/name` of each object that the Pod refers to. */
  readonly references: ReadonlySet<string>;
}

/** An index of the Pods of each node and of the objects that they refer to. */
export class NodePods {
  /** key of a Pod → its node and references */
  readonly #pods = new Map<string, BoundPod>();
  /** node → keys of its Pods */
  readonly #byNode = new Map<string, Set<string>>();
  readonly #prefix: string;

  /** Watches the cache until it is closed. */
  constructor(watchCache: WatchCache) {
    const cache = watchCache.of(podKind);
    this.#prefix = cache.prefix;
    cache.watchers.watch(({ key, item }) => this.#set(key, item?.object as Pod | undefined));
    for (const { key, object } of cache.range(cache.prefix)) this.#set(key, object as Pod);
  }

  /** Whether the Pod exists and is bound to the node. */
  isBound(node: string, namespace: string, name: string): boolean {
    return this.#pods.get(`${this.#prefix}${namespace}/${name}`)?.node === node;
  }

  /** Whether a Pod on the node refers to the object. */
  isReferenced(node: string, resource: string, namespace: string, name: string): boolean {
    const reference = `${resource}/${namespace}/${name}`;
    for (const key of this.#byNode.get(node) ?? []) {
      if (this.#pods.get(key)?.references.has(reference) === true) return true;
    }
    return false;
  }

  #set(key: string, pod: Pod | undefined): void {
    const old = this.#pods.get(key);
    const node = pod?.spec.nodeName ?? '';
    if (pod === undefined || node === '') {
      if (old !== undefined) this.#delete(key, old);
      return;
    }
    // Of what references come from, only ephemeral containers can change.
    const version = `${pod.metadata.uid} ${pod.spec.ephemeralContainers?.length ?? 0}`;
    if (old?.node === node && old.version === version) return;
    if (old !== undefined) this.#delete(key, old);
    this.#pods.set(key, { node, version, references: referencesOf(pod) });
    getOrCompute(this.#byNode, node, () => new Set()).add(key);
  }

  #delete(key: string, { node }: BoundPod): void {
    this.#pods.delete(key);
    const keys = this.#byNode.get(node);
    keys?.delete(key);
    if (keys?.size === 0) this.#byNode.delete(node);
  }
}

/** A mirror Pod refers to nothing, so that a node cannot give itself access to an object by creating one. */
const referencesOf = (pod: Pod): ReadonlySet<string> =>
  pod.metadata.annotations?.[mirrorAnnotation] === undefined
    ? new Set(podReferences(pod).map(({ resource, name }) => `${resource}/${pod.metadata.namespace ?? ''}/${name}`))
    : new Set();
