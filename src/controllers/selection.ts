import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { Service } from '../api/kinds/core/service/schema.ts';
import type { Key } from '../client/key.ts';
import { keyOf } from '../client/key.ts';
import { hasManagedEndpoints } from './backend.ts';

type Labels = Readonly<Record<string, string>>;

interface IndexedService {
  readonly selector: readonly (readonly [label: string, value: string])[];
  /** The pair of the selector that it is indexed by; undefined: it selects every Pod. */
  readonly pair: readonly [label: string, value: string] | undefined;
}

/** Label value → objects with that value. */
type ByValue<T> = Map<string, T>;

interface Namespace {
  readonly services: Map<Key, IndexedService>;
  readonly pods: Map<Key, Pod>;
  /** Label → value → Services indexed by this pair. */
  readonly servicesBy: Map<string, ByValue<Set<Key>>>;
  /** Services that select every Pod. */
  readonly unselective: Set<Key>;
  /** Label → value → Pods, for the labels in selectors. */
  readonly podsBy: Map<string, ByValue<Map<Key, Pod>>>;
}

/**
 * An index of which Services select which Pods. A Service is indexed by the pair of its selector with the fewest entries,
 * and a Pod is compared only with the Services indexed by one of its labels. So the cost of a change does not grow with the
 * number of Services, unless all have the same selector.
 */
export class Selection {
  readonly #namespaces = new Map<string, Namespace>();

  /** Adds or updates a Service. One whose endpoints the controllers do not manage selects nothing. */
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
    const indexed = namespace?.services.get(key);
    if (namespace === undefined || indexed === undefined) return;
    namespace.services.delete(key);
    namespace.unselective.delete(key);
    if (indexed.pair !== undefined) {
      const [label, value] = indexed.pair;
      const byValue = namespace.servicesBy.get(label);
      byValue?.get(value)?.delete(key);
      if (byValue?.get(value)?.size === 0) byValue.delete(value);
    }
    this.#removeIfEmpty(service.metadata.namespace, namespace);
  }

  /** Adds or updates a Pod; `old` is its previous state. */
  setPod(pod: Pod, old?: Pod): void {
    const namespace = this.#namespace(pod.metadata.namespace);
    const key = keyOf(pod);
    namespace.pods.set(key, pod);
    const labels = pod.metadata.labels ?? {};
    for (const [label, byValue] of namespace.podsBy) {
      const value = labels[label];
      const before = old?.metadata.labels?.[label];
      if (before !== undefined && before !== value) unindex(byValue, before, key);
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
      if (value !== undefined) unindex(byValue, value, key);
    }
    this.#removeIfEmpty(pod.metadata.namespace, namespace);
  }

  /** The Services that select a Pod. */
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
    const indexed = namespace?.services.get(keyOf(service));
    if (namespace === undefined || indexed === undefined) return [];
    let fewest = indexed.selector.length === 0 ? namespace.pods : undefined;
    for (const [label, value] of indexed.selector) {
      const having = namespace.podsBy.get(label)?.get(value);
      if (having === undefined) return [];
      if (fewest === undefined || having.size < fewest.size) fewest = having;
    }
    if (fewest === undefined) return [];
    const pods = [...fewest.values()];
    return indexed.selector.length < 2 ? pods : pods.filter((pod) => matches(indexed, pod.metadata.labels ?? {}));
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

  #removeIfEmpty(name = '', { services, pods }: Namespace): void {
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

/** Starts to index Pods by a label. Labels without a selector are not indexed. */
function indexLabel({ pods, podsBy }: Namespace, label: string): void {
  if (podsBy.has(label)) return;
  const byValue: ByValue<Map<Key, Pod>> = new Map();
  podsBy.set(label, byValue);
  for (const [key, pod] of pods) {
    const value = pod.metadata.labels?.[label];
    if (value !== undefined) getOrAdd(byValue, value, newMap).set(key, pod);
  }
}

function unindex(byValue: ByValue<Map<Key, Pod>>, value: string, key: Key): void {
  const having = byValue.get(value);
  having?.delete(key);
  if (having?.size === 0) byValue.delete(value);
}

/** The number of Services indexed by a pair, then the number of Pods with it. */
const load = ({ servicesBy, podsBy }: Namespace, [label, value]: readonly [string, string]): number =>
  (servicesBy.get(label)?.get(value)?.size ?? 0) * 1e6 + (podsBy.get(label)?.get(value)?.size ?? 0);

const matches = (indexed: IndexedService | undefined, labels: Labels): boolean =>
  indexed !== undefined && indexed.selector.every(([label, value]) => labels[label] === value);
