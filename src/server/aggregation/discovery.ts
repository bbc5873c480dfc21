// The discovery of aggregated servers, and how it is merged with that of this server. Pure.

import type { Document } from '../discovery/document.ts';
import { jsonDocument } from '../discovery/document.ts';
import { compareVersions, groupPriorityOf } from '../discovery/groups.ts';

/** What discovery has of a version that another server serves. */
export interface RemoteDiscovery {
  readonly group: string;
  readonly version: string;
  readonly groupPriority: number;
  readonly versionPriority: number;
  /** In the form of aggregated discovery. */
  readonly resources: readonly object[];
  /** False if the server did not answer the last time. */
  readonly isCurrent: boolean;
}

/** A resource in an APIResourceList. Other programs wrote it: any field may be missing, and have any type. */
interface ListedResource {
  readonly name?: unknown;
  readonly singularName?: unknown;
  readonly namespaced?: unknown;
  readonly group?: unknown;
  readonly version?: unknown;
  readonly kind?: unknown;
  readonly verbs?: unknown;
  readonly shortNames?: unknown;
  readonly categories?: unknown;
}

/** The resources of an APIResourceList in the form of aggregated discovery. Throws if the document is none. */
export function resourcesOf(
  text: string,
  { group, version }: { readonly group: string; readonly version: string },
): readonly object[] {
  const document = JSON.parse(text) as { readonly kind?: unknown; readonly resources?: unknown } | null;
  if (document?.kind !== 'APIResourceList' || !Array.isArray(document.resources))
    throw new Error('not an APIResourceList');
  const listed = (document.resources as readonly (ListedResource | null)[]).flatMap((each) => {
    const name = textOf(each?.name);
    return each === null || name === '' ? [] : [{ each, name }];
  });
  const kindOf = (each: ListedResource): object => ({
    group: textOf(each.group) || group,
    version: textOf(each.version) || version,
    kind: textOf(each.kind),
  });
  const below = Map.groupBy(
    listed.filter(({ name }) => name.includes('/')),
    ({ name }) => name.slice(0, name.indexOf('/')),
  );
  return listed
    .filter(({ name }) => !name.includes('/'))
    .map(({ each, name }) => ({
      resource: name,
      responseKind: kindOf(each),
      scope: each.namespaced === true ? 'Namespaced' : 'Cluster',
      singularResource: textOf(each.singularName),
      verbs: textsOf(each.verbs),
      ...nonEmpty('shortNames', textsOf(each.shortNames)),
      ...nonEmpty('categories', textsOf(each.categories)),
      ...nonEmpty(
        'subresources',
        (below.get(name) ?? []).map((sub) => ({
          subresource: sub.name.slice(name.length + 1),
          responseKind: kindOf(sub.each),
          verbs: textsOf(sub.each.verbs),
        })),
      ),
    }));
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const textsOf = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
const nonEmpty = (name: string, values: readonly unknown[]): object => (values.length > 0 ? { [name]: values } : {});

/** `/apis` with the groups of other servers. */
export function mergedGroupList(document: Document, remotes: readonly RemoteDiscovery[]): Document {
  const list = JSON.parse(document.body) as { groups: readonly LegacyGroup[] };
  const groups = merged(list.groups, remotes, { nameOf: ({ name }) => name, merge: legacyGroup });
  return jsonDocument({ ...list, groups }, document.contentType);
}

/** `/apis/{group}` with the versions of other servers; undefined if nobody serves the group. */
export function mergedGroup(
  document: Document | undefined,
  group: string,
  remotes: readonly RemoteDiscovery[],
): Document | undefined {
  const of = remotes.filter((remote) => remote.group === group);
  if (of.length === 0) return document;
  const own = document === undefined ? undefined : (JSON.parse(document.body) as LegacyGroup);
  return jsonDocument({ kind: 'APIGroup', apiVersion: 'v1', ...legacyGroup(own, of) });
}

/** The aggregated form of `/apis` with the groups of other servers. */
export function mergedAggregated(document: Document, remotes: readonly RemoteDiscovery[]): Document {
  const list = JSON.parse(document.body) as { items: readonly AggregatedGroup[] };
  const items = merged(list.items, remotes, { nameOf: ({ metadata }) => metadata.name ?? '', merge: aggregatedGroup });
  return jsonDocument({ ...list, items }, document.contentType);
}

interface LegacyVersion {
  readonly groupVersion: string;
  readonly version: string;
}

interface LegacyGroup {
  readonly name: string;
  readonly versions: readonly LegacyVersion[];
  readonly preferredVersion: LegacyVersion | undefined;
}

interface AggregatedGroup {
  readonly metadata: { readonly name?: string; readonly creationTimestamp: null };
  readonly versions: readonly { readonly version: string }[];
}

function legacyGroup(own: LegacyGroup | undefined, remotes: readonly RemoteDiscovery[]): LegacyGroup {
  const name = remotes[0]?.group ?? '';
  const versions = sortedVersions(own?.versions ?? [], remotes, ({ version }) => ({
    groupVersion: `${name}/${version}`,
    version,
  }));
  return { ...own, name, versions, preferredVersion: versions[0] };
}

const aggregatedGroup = (own: AggregatedGroup | undefined, remotes: readonly RemoteDiscovery[]): AggregatedGroup => ({
  metadata: { name: remotes[0]?.group ?? '', creationTimestamp: null },
  versions: sortedVersions(own?.versions ?? [], remotes, ({ version, resources, isCurrent }) => ({
    version,
    resources,
    freshness: isCurrent ? 'Current' : 'Stale',
  })),
});

/** The priority of versions that this server itself serves, as kube-apiserver registers those of custom resources. */
const ownVersionPriority = 100;

function sortedVersions<Version extends { readonly version: string }>(
  own: readonly Version[],
  remotes: readonly RemoteDiscovery[],
  describe: (remote: RemoteDiscovery) => Version,
): readonly Version[] {
  const all = [
    ...own.map((described) => ({ described, priority: ownVersionPriority })),
    ...remotes.map((remote) => ({ described: describe(remote), priority: remote.versionPriority })),
  ];
  return all
    .toSorted((a, b) => b.priority - a.priority || compareVersions(a.described.version, b.described.version))
    .map(({ described }) => described);
}

/** Puts the groups of other servers before those of a lower priority. */
function merged<Group>(
  own: readonly Group[],
  remotes: readonly RemoteDiscovery[],
  {
    nameOf,
    merge,
  }: {
    readonly nameOf: (group: Group) => string;
    readonly merge: (own: Group | undefined, remotes: readonly RemoteDiscovery[]) => Group;
  },
): readonly Group[] {
  const byGroup = Map.groupBy(remotes, ({ group }) => group);
  const groups = own.map((group) => {
    const name = nameOf(group);
    const of = byGroup.get(name) ?? [];
    byGroup.delete(name);
    return { group: of.length === 0 ? group : merge(group, of), priority: priorityOf(name, of) };
  });
  const others = [...byGroup]
    .map(([name, of]) => ({ name, group: merge(undefined, of), priority: priorityOf(undefined, of) }))
    .toSorted((a, b) => b.priority - a.priority || (a.name < b.name ? -1 : 1));
  // The sort is stable: groups of this server come before others of the same priority.
  return [...groups, ...others].toSorted((a, b) => b.priority - a.priority).map(({ group }) => group);
}

const priorityOf = (own: string | undefined, remotes: readonly RemoteDiscovery[]): number =>
  Math.max(own === undefined ? 0 : groupPriorityOf(own), ...remotes.map(({ groupPriority }) => groupPriority));
