import type { ObjectMeta, OwnerReference } from '../../../api/metadata.ts';
import { OwnershipGraph } from '../graph.ts';
import type { Identity } from '../node.ts';
import type { OwnerLookup } from '../classify.ts';

/** An object for tests: the name is the UID, so that tables read as graphs. */
export interface Given {
  readonly type: Pick<Identity, 'apiVersion' | 'kind'>;
  readonly metadata: ObjectMeta;
}

/** Differences from a ConfigMap in namespace `shop` without owners. */
export interface Traits {
  readonly kind?: string;
  readonly namespace?: string;
  readonly owners?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly isTerminating?: boolean;
  readonly resourceVersion?: string;
}

/** Kinds that tests use: name → scope. Others are unknown. */
const scopes: Readonly<Record<string, 'Namespaced' | 'Cluster'>> = {
  'v1 ConfigMap': 'Namespaced',
  'v1 Secret': 'Namespaced',
  'v1 Node': 'Cluster',
};

/** Lookups with the given results (UID → result); others are unknown. */
export const lookupWith = (
  results: Readonly<Record<string, ReturnType<OwnerLookup['resultFor']>>> = {},
): OwnerLookup => ({
  scopeOf: (apiVersion, kind) => scopes[`${apiVersion} ${kind}`],
  resultFor: ({ uid }) => results[uid],
});

/** An object with a name that is also its UID. */
export function object(name: string, traits: Traits = {}): Given {
  const { kind = 'ConfigMap', owners = [], finalizers = [], isTerminating = false, resourceVersion = '1' } = traits;
  const namespace = traits.namespace ?? (kind === 'Node' ? '' : 'shop');
  return {
    type: { apiVersion: 'v1', kind },
    metadata: {
      name,
      uid: name,
      resourceVersion,
      ...(namespace === '' ? {} : { namespace }),
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
      ...(finalizers.length > 0 ? { finalizers } : {}),
      ...(isTerminating ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
  };
}

/** A reference to a ConfigMap by its name. */
export const ref = (name: string, traits: Partial<OwnerReference> = {}): OwnerReference => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  name,
  uid: name,
  ...traits,
});

/** A reference that a foreground deletion of the owner waits for. */
export const blockingRef = (name: string): OwnerReference => ref(name, { blockOwnerDeletion: true });

/** A graph of these objects, observed in this order. */
export function graphOf(objects: readonly Given[]): OwnershipGraph {
  const graph = new OwnershipGraph();
  for (const { type, metadata } of objects) graph.observe(type, metadata);
  return graph;
}
