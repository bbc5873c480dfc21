import { clusterRoleBindingKind } from '../../../api/kinds/rbac/clusterrolebinding/kind.ts';
import { clusterRoleKind } from '../../../api/kinds/rbac/clusterrole/kind.ts';
import type { Binding } from '../../../api/kinds/rbac/binding.ts';
import { roleBindingKind } from '../../../api/kinds/rbac/rolebinding/kind.ts';
import type { Role } from '../../../api/kinds/rbac/role/kind.ts';
import { roleKind } from '../../../api/kinds/rbac/role/kind.ts';
import type { Kind } from '../../../api/kind.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';
import type { User } from '../../reply.ts';
import type { Attributes } from './attributes.ts';
import type { Grant } from './grants.ts';
import { GrantIndex, grantsOf } from './grants.ts';
import type { NormalizedRule } from './rules.ts';
import { allows, normalized } from './rules.ts';

/** The rules that somebody holds, and the roles that are bound to them and do not exist. */
export interface HeldRules {
  readonly rules: readonly NormalizedRule[];
  /** One text a role, such as `clusterrole.rbac.authorization.k8s.io "x" not found`. */
  readonly missing: readonly string[];
}

/**
 * The roles and bindings of the watch cache, arranged so that a decision looks only at what the asker holds:
 * user or group → grants → rules.
 */
export class Policy {
  /** `name` of a ClusterRole or `namespace/name` of a Role → its rules */
  readonly #roles = new Map<string, readonly NormalizedRule[]>();
  /** key of a binding → what it grants */
  readonly #bindings = new Map<string, readonly Grant[]>();
  readonly #everywhere = new GrantIndex();
  /** namespace → what is granted there */
  readonly #local = new Map<string, GrantIndex>();

  /** Follows the caches for as long as they live. */
  constructor(watchCache: WatchCache) {
    for (const kind of [roleKind, clusterRoleKind]) {
      this.#follow(watchCache, kind, (key, role) => this.#setRole(key, role as Role | undefined));
    }
    for (const kind of [roleBindingKind, clusterRoleBindingKind]) {
      this.#follow(watchCache, kind, (key, binding) => this.#setBinding(key, binding as Binding | undefined));
    }
  }

  /** The grant that allows what is asked, if there is one. */
  grantFor(user: User, attributes: Attributes): Grant | undefined {
    const namespace = attributes.isResource ? attributes.namespace : '';
    return this.#find(user, namespace, ({ roleKey }) => {
      const rules = this.#roles.get(roleKey);
      return rules !== undefined && allows(rules, attributes);
    });
  }

  /** Everything the user may do in a namespace and in the whole cluster; '' leaves the cluster. */
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

  /** The rules of the role that a binding in `namespace` names; undefined when there is no such role. */
  rulesOf({ kind, name }: Binding['roleRef'], namespace: string): readonly NormalizedRule[] | undefined {
    return this.#roles.get(kind === 'Role' ? `${namespace}/${name}` : name);
  }

  #find(user: User, namespace: string, wanted: (grant: Grant) => boolean): Grant | undefined {
    const found = this.#everywhere.find(user, wanted);
    if (found !== undefined || namespace === '') return found;
    return this.#local.get(namespace)?.find(user, wanted);
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
    if (index.isEmpty) this.#local.delete(grant.binding.namespace);
  }

  #indexOf({ binding: { namespace } }: Grant): GrantIndex {
    return namespace === '' ? this.#everywhere : this.#local.getOrInsertComputed(namespace, () => new GrantIndex());
  }

  #follow(watchCache: WatchCache, kind: Kind, set: (key: string, object: ApiObject | undefined) => void): void {
    const cache = watchCache.of(kind);
    const keyOf = (key: string): string => key.slice(cache.prefix.length);
    cache.watchers.add({
      scope: cache.prefix,
      exact: false,
      notify: ({ key, item }) => set(keyOf(key), item?.object),
      progress: () => undefined,
    });
    for (const { key, object } of cache.range(cache.prefix)) set(keyOf(key), object);
  }
}
