// What is wrong with the records of a store.

import { messageOf } from '../../api/error-message.ts';
import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { kinds } from '../../api/kinds/registry.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { planClaims } from '../../server/allocate/claim-plan.ts';
import { addressPrefix, portPrefix } from '../../server/allocate/claims.ts';
import type { Layout } from '../../server/cache/layout.ts';
import { forRegistryKey, layoutOf, registryPrefix } from '../../server/cache/layout.ts';
import { storedForm } from '../../server/cache/stored-form.ts';
import { isEncrypted } from '../../server/encryption/transformer.ts';
import type { Entry } from '../../store/store.ts';

/** The result of a check. */
export interface Check {
  /** One line each. */
  readonly problems: readonly string[];
  /** The number of encrypted values, which are not checked. */
  readonly encrypted: number;
}

interface Stored {
  readonly kind: Kind;
  readonly layout: Layout;
}

/** The stored kinds by the prefix of their keys. */
const byPrefix: ReadonlyMap<string, Stored> = new Map(
  kinds
    .filter(({ stored, storage }) => stored && storage === undefined)
    .map((kind) => [registryPrefix(kind), { kind, layout: layoutOf(kind) }]),
);

/** Checks all records of a store, read at one revision. */
export function check(entries: Iterable<Entry>): Check {
  const problems: string[] = [];
  const services: Service[] = [];
  const claims: Entry[] = [];
  const namespaces = new Set<string>();
  /** namespace → a key in it */
  const used = new Map<string, string>();
  let encrypted = 0;
  for (const entry of entries) {
    const { key, value } = entry;
    if (key.startsWith(addressPrefix) || key.startsWith(portPrefix)) claims.push(entry);
    const stored = forRegistryKey(byPrefix, key);
    if (stored === undefined) continue;
    if (isEncrypted(value)) {
      encrypted++;
      continue;
    }
    try {
      const object = objectOf(stored, entry);
      const { name = '', namespace } = object.metadata;
      if (stored.kind === namespaceKind) namespaces.add(name);
      if (stored.kind === serviceKind) services.push(object as Service); // read with the schema of Services
      if (namespace !== undefined) used.set(namespace, key);
    } catch (error) {
      problems.push(`${key}: ${messageOf(error)}`);
    }
  }
  for (const [namespace, key] of used) {
    if (!namespaces.has(namespace)) problems.push(`${key}: namespace "${namespace}" does not exist`);
  }
  return { problems: [...problems, ...claimProblems(services, claims)], encrypted };
}

/** The Services of a store that can be read. */
export function* servicesOf(entries: Iterable<Entry>): Generator<Service, void> {
  const stored = { kind: serviceKind, layout: layoutOf(serviceKind) };
  const prefix = registryPrefix(serviceKind);
  for (const entry of entries) {
    if (!entry.key.startsWith(prefix)) continue;
    try {
      yield objectOf(stored, entry) as Service; // read with the schema of Services
    } catch {
      // the server that opens the store reports it
    }
  }
}

/** The object of a record. Throws if it is not one, or has another name than its key. */
function objectOf({ kind, layout }: Stored, { key, value }: Entry): ApiObject {
  const object = JSON.parse(storedForm(kind, layout, value)) as ApiObject; // as `serialise` wrote it
  const { namespace, name } = object.metadata;
  const path = kind.namespaced ? `${namespace}/${name}` : `${name}`;
  if (key !== registryPrefix(kind) + path) throw new Error(`has the object ${path}`);
  return object;
}

function claimProblems(services: readonly Service[], claims: readonly Entry[]): readonly string[] {
  const { missing, orphaned, contested } = planClaims(services, claims);
  const nameOf = ({ metadata: { namespace, name } }: Service): string => `${namespace}/${name}`;
  return [
    ...missing.map(({ key, service }) => `${key}: Service ${nameOf(service)} needs it, but does not hold it`),
    ...orphaned.map(({ key }) => `${key}: no Service needs it`),
    ...contested.map(({ key, services: owners }) => `${key}: Services ${owners.map(nameOf).join(', ')} have it`),
  ];
}
