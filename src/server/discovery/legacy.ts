// Unaggregated discovery, which generic clients still read: one document for each group and version.

import { createHash } from 'node:crypto';

import type { Kind } from '../../api/kind.ts';
import { getOrCompute } from '../../api/maps.ts';
import type { Document } from './document.ts';
import { jsonDocument, memoizePer } from './document.ts';
import type { Group, GroupVersion } from './groups.ts';
import { groupsOf } from './groups.ts';
import { subresourcesOf } from './subresources.ts';

/** `/api`. `serverAddress` is `host:port` as clients reach it. */
export const apiVersions = (serverAddress: string): Document =>
  jsonDocument({
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress }],
  });

/** `/apis`. */
export const apiGroupList = (kinds: readonly Kind[]): Document => groupList(kinds, '');

/** `/apis/{group}`; undefined for an unknown group. */
export const apiGroup = (kinds: readonly Kind[], group: string): Document | undefined => groupDocument(kinds, group);

/** `/api/v1` for `v1`, `/apis/apps/v1` for `apps/v1`; undefined for an unknown group or version. */
export const apiResourceList = (kinds: readonly Kind[], groupVersion: string): Document | undefined =>
  resourceList(kinds, groupVersion);

const groupList = memoizePer((kinds: readonly Kind[]) =>
  jsonDocument({
    kind: 'APIGroupList',
    apiVersion: 'v1',
    groups: groupsOf(kinds)
      .filter(({ name }) => name !== '')
      .map(describeGroup),
  }),
);

const groupDocument = memoizePer((kinds: readonly Kind[], name) => {
  const group = groupsOf(kinds).find((candidate) => candidate.name === name && name !== '');
  return group && jsonDocument({ kind: 'APIGroup', apiVersion: 'v1', ...describeGroup(group) });
});

function describeGroup({ name, versions }: Group): object {
  const described = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: described, preferredVersion: described[0] };
}

const resourceList = memoizePer((kinds: readonly Kind[], groupVersion) => {
  const found = groupsOf(kinds)
    .flatMap(({ versions }) => versions)
    .find((candidate) => candidate.groupVersion === groupVersion);
  return found && jsonDocument(describeResources(found));
});

const describeResources = ({ groupVersion, kinds }: GroupVersion): object => ({
  kind: 'APIResourceList',
  ...(groupVersion.includes('/') ? { apiVersion: 'v1' } : {}),
  groupVersion,
  resources: kinds.flatMap(describeAll),
});

// The document of a group is made again for each kind that comes or goes; the other kinds stay.
const described = new WeakMap<Kind, readonly object[]>();

const describeAll = (kind: Kind): readonly object[] =>
  getOrCompute(described, kind, () => [describeResource(kind), ...describeSubresources(kind)]);

const describeResource = (kind: Kind): object => ({
  name: kind.plural,
  singularName: kind.singular,
  namespaced: kind.namespaced,
  kind: kind.kind,
  verbs: kind.verbs,
  ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
  ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
  ...(kind.stored ? { storageVersionHash: storageVersionHash(kind) } : {}),
});

/** Changes with the version that objects are stored in, computed as in Kubernetes. */
function storageVersionHash(kind: Kind): string {
  const { group, version, kind: name } = kind.storage?.kind ?? kind;
  return createHash('sha256').update(`${group}/${version}/${name}`).digest().subarray(0, 8).toString('base64');
}

const describeSubresources = (kind: Kind): readonly object[] =>
  subresourcesOf(kind).map(({ name, verbs, body = kind, connect = body.kind }) => ({
    name: `${kind.plural}/${name}`,
    singularName: '',
    namespaced: kind.namespaced,
    ...(body === kind ? {} : { group: body.group, version: body.version }),
    kind: connect,
    verbs,
  }));
