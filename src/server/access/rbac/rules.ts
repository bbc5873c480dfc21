import type { PolicyRule } from '../../../api/kinds/rbac/policy-rule.ts';
import { trimEnd } from '../../../api/text.ts';
import type { Attributes, PathAttributes, ResourceAttributes } from './attributes.ts';

const all = '*';
const none: readonly string[] = [];

/** A rule with all fields. */
export type NormalizedRule = { readonly [Field in keyof PolicyRule]-?: readonly string[] };

/** Adds absent fields in a fixed order: objects of one shape are read several times as fast. */
export const normalized = ({
  verbs,
  apiGroups = none,
  resources = none,
  resourceNames = none,
  nonResourceURLs = none,
}: PolicyRule): NormalizedRule => ({ verbs: verbs ?? none, apiGroups, resources, resourceNames, nonResourceURLs });

/** Whether one of the rules allows the request. Rules cannot deny. */
export function allows(rules: readonly NormalizedRule[], attributes: Attributes): boolean {
  return attributes.isResource ? allowsResource(rules, attributes) : allowsPath(rules, attributes);
}

function allowsResource(rules: readonly NormalizedRule[], attributes: ResourceAttributes): boolean {
  const { verb, group, resource, subresource, name } = attributes;
  const what = subresource === '' ? resource : `${resource}/${subresource}`;
  for (const rule of rules) {
    if (
      hasOrAll(rule.apiGroups, group) &&
      hasOrAll(rule.verbs, verb) &&
      hasResource(rule.resources, what, subresource) &&
      hasName(rule.resourceNames, name)
    ) {
      return true;
    }
  }
  return false;
}

function allowsPath(rules: readonly NormalizedRule[], { verb, path }: PathAttributes): boolean {
  for (const { verbs, nonResourceURLs } of rules) {
    if (hasOrAll(verbs, verb) && nonResourceURLs.some((pattern) => matchesPath(pattern, path))) return true;
  }
  return false;
}

/** `*` is a wildcard only at the end of a pattern. */
export function matchesPath(pattern: string, path: string): boolean {
  return pattern === path || (pattern.endsWith(all) && path.startsWith(trimEnd(pattern, all)));
}

const hasOrAll = (words: readonly string[], word: string): boolean => words.includes(word) || words.includes(all);

/** `*` matches all resources and subresources; a resource does not include its subresources. */
const hasResource = (resources: readonly string[], what: string, subresource: string): boolean =>
  resources.includes(what) || resources.includes(all) || (subresource !== '' && resources.includes(`*/${subresource}`));

/** A rule with names does not match requests without a name: creations, and lists without a name selector. */
const hasName = (names: readonly string[], name: string): boolean => names.length === 0 || names.includes(name);
