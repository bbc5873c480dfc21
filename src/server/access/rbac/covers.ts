import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import { matchesPath } from './rules.ts';
import { getOrCompute } from '../../../api/maps.ts';

/** One verb on one resource of one group, for one name or all; or one verb on one path. */
export type Permission =
  | { readonly verb: string; readonly group: string; readonly resource: string; readonly name: string | undefined }
  | { readonly verb: string; readonly path: string };

/** The number of permissions in a set of rules, counted without listing them. */
export const countPermissions = (rules: readonly PolicyRule[]): number =>
  rules.reduce((sum, { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }) => {
    const things = apiGroups.length * resources.length * Math.max(resourceNames.length, 1) + nonResourceURLs.length;
    return sum + (verbs ?? []).length * things;
  }, 0);

/** Splits rules into permissions, each of which a single rule of the holder must cover. */
export function* permissionsOf(rules: readonly PolicyRule[]): Generator<Permission, void> {
  for (const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } of rules) {
    const names = resourceNames.length === 0 ? [undefined] : resourceNames;
    for (const group of apiGroups)
      for (const resource of resources)
        for (const verb of verbs ?? []) for (const name of names) yield { verb, group, resource, name };
    for (const path of nonResourceURLs) for (const verb of verbs ?? []) yield { verb, path };
  }
}

/** The permissions in `wanted` that `held` does not cover. */
export function uncovered(held: readonly PolicyRule[], wanted: readonly PolicyRule[]): readonly Permission[] {
  const rules = held.map(heldRule);
  return permissionsOf(wanted)
    .filter((permission) => !rules.some((rule) => covers(rule, permission)))
    .toArray();
}

/** A rule with sets, since it is checked against every permission. */
interface HeldRule {
  readonly verbs: ReadonlySet<string>;
  readonly apiGroups: ReadonlySet<string>;
  readonly resources: ReadonlySet<string>;
  readonly resourceNames: ReadonlySet<string>;
  readonly nonResourceURLs: readonly string[];
}

const heldRule = ({ verbs, apiGroups, resources, resourceNames, nonResourceURLs = [] }: PolicyRule): HeldRule => ({
  verbs: new Set(verbs),
  apiGroups: new Set(apiGroups),
  resources: new Set(resources),
  resourceNames: new Set(resourceNames),
  nonResourceURLs,
});

/** Whether a rule covers a permission. Only a wildcard covers a wildcard. */
function covers(rule: HeldRule, permission: Permission): boolean {
  const { verbs, apiGroups, resources, resourceNames, nonResourceURLs } = rule;
  if (!hasOrAll(verbs, permission.verb)) return false;
  if ('path' in permission) {
    return resourceNames.size === 0 && nonResourceURLs.some((pattern) => matchesPath(pattern, permission.path));
  }
  const { group, resource, name } = permission;
  return (
    hasOrAll(apiGroups, group) &&
    coversResource(resources, resource) &&
    (resourceNames.size === 0 || (name !== undefined && resourceNames.has(name)))
  );
}

const hasOrAll = (words: ReadonlySet<string>, word: string): boolean => words.has('*') || words.has(word);

function coversResource(resources: ReadonlySet<string>, wanted: string): boolean {
  if (hasOrAll(resources, wanted)) return true;
  const slash = wanted.indexOf('/');
  return slash >= 0 && resources.has(`*${wanted.slice(slash)}`);
}

/**
 * Prints permissions as in Kubernetes' error, one per line, sorted; those that differ only in the verb are merged:
 *
 *     {APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["get" "list"]}
 */
export function describePermissions(permissions: readonly Permission[]): string {
  /** permission without verbs → verbs */
  const verbsOf = new Map<string, Set<string>>();
  for (const permission of permissions) {
    getOrCompute(verbsOf, placeOf(permission), () => new Set()).add(permission.verb);
  }
  const lines = [...verbsOf].flatMap(([place, verbs]) => {
    const isPath = place.startsWith('NonResourceURLs');
    const groups = isPath ? [...verbs].map((verb) => [verb]) : [[...verbs]];
    return groups.map((group) => `{${place}, Verbs:${quoted(group)}}`);
  });
  return lines.sort().join('\n');
}

function placeOf(permission: Permission): string {
  if ('path' in permission) return `NonResourceURLs:${quoted([permission.path])}`;
  const { group, resource, name } = permission;
  const names = name === undefined ? '' : `, ResourceNames:${quoted([name])}`;
  return `APIGroups:${quoted([group])}, Resources:${quoted([resource])}${names}`;
}

/** Prints a list of strings as Go does: `["a" "b"]`. */
export const quoted = (words: readonly string[]): string => `[${words.map((word) => JSON.stringify(word)).join(' ')}]`;
