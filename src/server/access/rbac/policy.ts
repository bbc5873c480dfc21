import { clusterRoleBindingKind } from '../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { clusterRoleKind } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import type { Binding } from '../../../api/kinds/rbac/binding.ts';
import { roleBindingKind } from '../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../api/kinds/rbac/role/kind.ts';
import { roleKind } from '../../../api/kinds/rbac/role/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { User } from '../../../api/user.ts';
import type { Attributes } from './attributes.ts';
import type { Grant } from './grants.ts';
import { GrantIndex, grantsOf } from './grants.ts';
import type { NormalizedRule } from './rules.ts';
import { allows, normalized } from './rules.ts';
import { getOrCompute } from '../../../api/maps.ts';

/** The rules that a user holds, and bound roles that do not exist. */
export interface HeldRules {
  readonly rules: readonly NormalizedRule[];
  /** One message per role, such as `clusterrole.rbac.authorization.k8s.io "x" not found`. */
  readonly missing: readonly string[];
}

/**
 * An index of the roles and bindings in the watch cache, so that a decision reads only what the user holds:
 * user or group → grants → rules.
 */
export class Policy {
  /** `name` of a ClusterRole or `namespace/name` of a Role → its rules */
  readonly #roles = new Map<string, readonly NormalizedRule[]>();
  /** key of a binding → its grants */
  readonly #bindings = new Map<string, readonly Grant[]>();
  readonly #clusterWide = new GrantIndex();
  /** namespace → its grants */
  readonly #byNamespace = new Map<string, GrantIndex>();

  /** Watches the caches until they are closed. */
  constructor(watchCache: WatchCache) {
    for (const kind of [roleKind, clusterRoleKind]) {
      this.#watch(watchCache, kind, (key, role) => this.#setRole(key, role as Role | undefined));
    }
    for (const kind of [roleBindingKind, clusterRoleBindingKind]) {
      this.#watch(watchCache, kind, (key, binding) => this.#setBinding(key, binding as Binding | undefined));
    }
  }

  /** The first grant that allows the request; undefined: none does. */
  grantFor(user: User, attributes: Attributes): Grant | undefined {
    const namespace = attributes.isResource ? attributes.namespace : '';
    return this.#find(user, namespace, ({ roleKey }) => {
      const rules = this.#roles.get(roleKey);
      return rules !== undefined && allows(rules, attributes);
    });
  }

  /** All rules that apply in a namespace, cluster-wide ones included; '' for only those. */
  rulesFor(user: User, namespace: string): HeldRules {
    const keys = new Set<string>();
    const missing = new Set<string>();
    this.#find(user, namespace, ({ roleKey, roleRef }) => {
      if (this.#roles.has(roleKey)) keys.add(roleKey);
      else missing.add(`${roleRef.kind.toLowerCase()}.${roleRef.apiGroup} ${JSON.stringify(roleRef.name)} not found`);
      return false;
    });
    return { rules: [...keys].flatMap((key) => this.#roles.get(key) ?? []), missing: [...missing] };
  }

  /** The rules of the role that a binding in `namespace` refers to; undefined if the role does not exist. */
  rulesOf({ kind, name }: Binding['roleRef'], namespace: string): readonly NormalizedRule[] | undefined {
    return this.#roles.get(kind === 'Role' ? `${namespace}/${name}` : name);
  }

  #find(user: User, namespace: string, matches: (grant: Grant) => boolean): Grant | undefined {
    const found = this.#clusterWide.find(user, matches);
    if (found !== undefined || namespace === '') return found;
    return this.#byNamespace.get(namespace)?.find(user, matches);
  }

  #setRole(key: string, role: Role | undefined): void {
    if (role === undefined) this.#roles.delete(key);
    else this.#roles.set(key, (role.rules ?? []).map(normalized));
  }

  #setBinding(key: string, binding: Binding | undefined): void {
    for (const grant of this.#bindings.get(key) ?? []) this.#revoke(grant);
    this.#bindings.delete(key);
    if (binding === undefined) return;
    const grants = grantsOf(binding);
    this.#bindings.set(key, grants);
    for (const grant of grants) this.#indexOf(grant).add(grant);
  }

  #revoke(grant: Grant): void {
    const index = this.#indexOf(grant);
    index.remove(grant);
    if (index.isEmpty) this.#byNamespace.delete(grant.binding.namespace);
  }

  #indexOf({ binding: { namespace } }: Grant): GrantIndex {
    return namespace === '' ? this.#clusterWide : getOrCompute(this.#byNamespace, namespace, () => new GrantIndex());
  }

  #watch(watchCache: WatchCache, kind: Kind, set: (key: string, object: ApiObject | undefined) => void): void {
    const cache = watchCache.of(kind);
    const keyOf = (key: string): string => key.slice(cache.prefix.length);
    cache.watchers.watch(({ key, item }) => set(keyOf(key), item?.object));
    for (const { key, object } of cache.range(cache.prefix)) set(keyOf(key), object);
  }
}
