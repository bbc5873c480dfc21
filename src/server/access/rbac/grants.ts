import type { Binding, RoleRef, Subject } from '../../../api/kinds/rbac/binding.ts';
import type { User } from '../../../api/user.ts';
import { getOrCompute } from '../../../api/maps.ts';

/** One subject of one binding: it holds a role in all namespaces or in one. */
export interface Grant {
  readonly subject: Subject;
  readonly roleRef: RoleRef;
  /** The key in the index of roles: `name` or `namespace/name`. */
  readonly roleKey: string;
  /** The binding; '' is the namespace of a ClusterRoleBinding. */
  readonly binding: { readonly namespace: string; readonly name: string };
}

const none: ReadonlySet<Grant> = new Set();

/** The grants of one namespace, or of the whole cluster, by user and group. */
export class GrantIndex {
  /** user name → grants; service accounts are users too */
  readonly #users = new Map<string, Set<Grant>>();
  readonly #groups = new Map<string, Set<Grant>>();

  add(grant: Grant): void {
    const place = this.#placeOf(grant);
    if (place !== undefined) getOrCompute(place.index, place.holder, () => new Set()).add(grant);
  }

  remove(grant: Grant): void {
    const place = this.#placeOf(grant);
    const grants = place?.index.get(place.holder);
    grants?.delete(grant);
    if (place !== undefined && grants?.size === 0) place.index.delete(place.holder);
  }

  get isEmpty(): boolean {
    return this.#users.size === 0 && this.#groups.size === 0;
  }

  /** The first grant of the user that `matches` accepts. Grants of others are not visited. */
  find(user: User, matches: (grant: Grant) => boolean): Grant | undefined {
    for (const grant of this.#users.get(user.name) ?? none) if (matches(grant)) return grant;
    for (const group of user.groups) {
      for (const grant of this.#groups.get(group) ?? none) if (matches(grant)) return grant;
    }
    return undefined;
  }

  #placeOf({ subject, binding }: Grant): { index: Map<string, Set<Grant>>; holder: string } | undefined {
    switch (subject.kind) {
      case 'User':
        return { index: this.#users, holder: subject.name };
      case 'Group':
        return { index: this.#groups, holder: subject.name };
      case 'ServiceAccount': {
        // The namespace defaults to that of the binding.
        const namespace = subject.namespace || binding.namespace;
        if (namespace === '') return undefined;
        return { index: this.#users, holder: `system:serviceaccount:${namespace}:${subject.name}` };
      }
      default:
        return undefined; // rejected by validation
    }
  }
}

/** The grants of a binding, one per subject. */
export function grantsOf({ metadata, roleRef, subjects = [] }: Binding): readonly Grant[] {
  const binding = { namespace: metadata.namespace ?? '', name: metadata.name ?? '' };
  const roleKey = roleRef.kind === 'Role' ? `${binding.namespace}/${roleRef.name}` : roleRef.name;
  return subjects.map((subject) => ({ subject, roleRef, roleKey, binding }));
}

/** The text of a grant in the reason of a decision. */
export function describeGrant({ subject, roleRef, binding }: Grant): string {
  const { namespace, name } = binding;
  const bound = namespace === '' ? `ClusterRoleBinding ${quote(name)}` : `RoleBinding ${quote(`${name}/${namespace}`)}`;
  const holder = subject.kind === 'ServiceAccount' ? `${subject.name}/${subject.namespace || namespace}` : subject.name;
  return `${bound} of ${roleRef.kind} ${quote(roleRef.name)} to ${subject.kind} ${quote(holder)}`;
}

const quote = (text: string): string => JSON.stringify(text);
