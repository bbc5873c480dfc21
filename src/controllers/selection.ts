import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import type { Key } from '../client/key.ts';
import { keyOf } from '../client/key.ts';
import { hasManagedEndpoints } from './backend.ts';

type Labels = Readonly<Record<string, string>>;

interface Filed {
  readonly selector: readonly (readonly [label: string, value: string])[];
  /** The pair of the selector that it is found by; undefined: it selects everything. */
  readonly pair: readonly [label: string, value: string] | undefined;
}

/** Label value → what has it. */
type ByValue<T> = Map<string, T>;

interface Namespace {
  readonly services: Map<Key, Filed>;
  readonly pods: Map<Key, Pod>;
  /** Label → value → the Services that are found by this pair. */
  readonly servicesBy: Map<string, ByValue<Set<Key>>>;
  /** Services that select every Pod. */
  readonly unselective: Set<Key>;
  /** Label → value → Pods, for the labels that selectors name. */
  readonly podsBy: Map<string, ByValue<Map<Key, Pod>>>;
}

/**
 * Which Services select which Pods, both ways. A Pod is compared with the Services that are filed under one of its
 * labels, and a Service is filed under the pair of its selector that fewest others are filed under; so the cost of a
 * change does not depend on how many Services there are, unless they all select the same.
 */
export class Selection {
  readonly #namespaces = new Map<string, Namespace>();

  /** Takes in a Service that was added or changed. One whose endpoints others keep selects nothing here. */
  setService(service: Service): void {
    this.removeService(service);
    if (!hasManagedEndpoints(service)) return;
    const namespace = this.#namespace(service.metadata.namespace);
    const selector = Object.entries(service.spec.selector ?? {});
    const key = keyOf(service);
    for (const [label] of selector) indexLabel(namespace, label);
    const pair = selector.toSorted((left, right) => load(namespace, left) - load(namespace, right))[0];
    namespace.services.set(key, { selector, pair });
    if (pair === undefined) namespace.unselective.add(key);
    else getOrAdd(getOrAdd(namespace.servicesBy, pair[0], newMap<string, Set<Key>>), pair[1], newSet<Key>).add(key);
  }

  removeService(service: Service): void {
    const namespace = this.#namespaces.get(service.metadata.namespace ?? '');
    const key = keyOf(service);
    const filed = namespace?.services.get(key);
    if (namespace === undefined || filed === undefined) return;
    namespace.services.delete(key);
    namespace.unselective.delete(key);
    if (filed.pair !== undefined) {
      const [label, value] = filed.pair;
      const byValue = namespace.servicesBy.get(label);
      byValue?.get(value)?.delete(key);
      if (byValue?.get(value)?.size === 0) byValue.delete(value);
    }
    this.#forget(service.metadata.namespace, namespace);
  }

  /** Takes in a Pod that was added or changed; `old` is what it was. */
  setPod(pod: Pod, old?: Pod): void {
    const namespace = this.#namespace(pod.metadata.namespace);
    const key = keyOf(pod);
    namespace.pods.set(key, pod);
    const labels = pod.metadata.labels ?? {};
    for (const [label, byValue] of namespace.podsBy) {
      const value = labels[label];
      const before = old?.metadata.labels?.[label];
      if (before !== undefined && before !== value) unfile(byValue, before, key);
      if (value !== undefined) getOrAdd(byValue, value, newMap).set(key, pod);
    }
  }

  removePod(pod: Pod): void {
    const namespace = this.#namespaces.get(pod.metadata.namespace ?? '');
    if (namespace === undefined) return;
    const key = keyOf(pod);
    const last = namespace.pods.get(key) ?? pod;
    namespace.pods.delete(key);
    for (const [label, byValue] of namespace.podsBy) {
      const value = last.metadata.labels?.[label];
      if (value !== undefined) unfile(byValue, value, key);
    }
    this.#forget(pod.metadata.namespace, namespace);
  }

  /** The Services that select a Pod with these labels. */
  servicesOf({ metadata: { namespace: name = '', labels = {} } }: Pod): readonly Key[] {
    const namespace = this.#namespaces.get(name);
    if (namespace === undefined || namespace.services.size === 0) return [];
    const found = [...namespace.unselective];
    for (const label in labels) {
      const candidates = namespace.servicesBy.get(label)?.get(labels[label] ?? '');
      if (candidates === undefined) continue;
      for (const key of candidates) if (matches(namespace.services.get(key), labels)) found.push(key);
    }
    return found;
  }

  /** The Pods that a Service selects. */
  podsOf(service: Service): readonly Pod[] {
    const namespace = this.#namespaces.get(service.metadata.namespace ?? '');
    const filed = namespace?.services.get(keyOf(service));
    if (namespace === undefined || filed === undefined) return [];
    let fewest = filed.selector.length === 0 ? namespace.pods : undefined;
    for (const [label, value] of filed.selector) {
      const having = namespace.podsBy.get(label)?.get(value);
      if (having === undefined) return [];
      if (fewest === undefined || having.size < fewest.size) fewest = having;
    }
    if (fewest === undefined) return [];
    const pods = [...fewest.values()];
    return filed.selector.length < 2 ? pods : pods.filter((pod) => matches(filed, pod.metadata.labels ?? {}));
  }

  #namespace(name = ''): Namespace {
    return getOrAdd(this.#namespaces, name, () => ({
      services: new Map(),
      pods: new Map(),
      servicesBy: new Map(),
      unselective: new Set(),
      podsBy: new Map(),
    }));
  }

  #forget(name = '', { services, pods }: Namespace): void {
    if (services.size === 0 && pods.size === 0) this.#namespaces.delete(name);
  }
}

const newMap = <Key, Value>(): Map<Key, Value> => new Map<Key, Value>();
const newSet = <Value>(): Set<Value> => new Set<Value>();

function getOrAdd<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}

/** Begins to keep the Pods by a label; labels that no selector names are not kept. */
function indexLabel({ pods, podsBy }: Namespace, label: string): void {
  if (podsBy.has(label)) return;
  const byValue: ByValue<Map<Key, Pod>> = new Map();
  podsBy.set(label, byValue);
  for (const [key, pod] of pods) {
    const value = pod.metadata.labels?.[label];
    if (value !== undefined) getOrAdd(byValue, value, newMap).set(key, pod);
  }
}

function unfile(byValue: ByValue<Map<Key, Pod>>, value: string, key: Key): void {
  const having = byValue.get(value);
  having?.delete(key);
  if (having?.size === 0) byValue.delete(value);
}

/** How many Services are found by a pair; where it is the same, how many Pods have it decides. */
const load = ({ servicesBy, podsBy }: Namespace, [label, value]: readonly [string, string]): number =>
  (servicesBy.get(label)?.get(value)?.size ?? 0) * 1e6 + (podsBy.get(label)?.get(value)?.size ?? 0);

const matches = (filed: Filed | undefined, labels: Labels): boolean =>
  filed !== undefined && filed.selector.every(([label, value]) => labels[label] === value);
