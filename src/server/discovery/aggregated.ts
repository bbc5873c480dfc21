// Aggregated discovery: two documents for all groups, which current clients request by media type.

import { groupVersionKind } from '../../api/kind.ts';
import type { Kind } from '../../api/kind.ts';
import type { Document } from './document.ts';
import { jsonDocument, memoizePer } from './document.ts';
import type { Group } from './groups.ts';
import { groupsOf } from './groups.ts';
import { subresourcesOf } from './subresources.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

/**
 * `/api` (`core`) or `/apis` (`groups`) for clients that accept `as=APIGroupDiscoveryList`. They identify the format by the
 * exact content type.
 */
export const aggregatedDiscovery = (
  kinds: readonly Kind[],
  path: 'core' | 'groups',
  version: AggregatedVersion,
): Document => aggregated(kinds, `${path} ${version}`);

const aggregated = memoizePer((kinds: readonly Kind[], key) => {
  const [path, version] = key.split(' ');
  return jsonDocument(
    {
      kind: 'APIGroupDiscoveryList',
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groupsOf(kinds)
        .filter(({ name }) => (name === '') === (path === 'core'))
        .map(describeGroup),
    },
    `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
  );
});

const describeGroup = ({ name, versions }: Group): object => ({
  metadata: { ...(name === '' ? {} : { name }), creationTimestamp: null },
  versions: versions.map(({ version, kinds }) => ({
    version,
    resources: kinds.map(describeResource),
    freshness: 'Current',
  })),
});

function describeResource(kind: Kind): object {
  const subresources = subresourcesOf(kind);
  return {
    resource: kind.plural,
    responseKind: groupVersionKind(kind),
    scope: kind.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: kind.singular,
    verbs: kind.verbs,
    ...(kind.shortNames.length > 0 ? { shortNames: kind.shortNames } : {}),
    ...(kind.categories.length > 0 ? { categories: kind.categories } : {}),
    ...(subresources.length > 0
      ? {
          subresources: subresources.map(({ name, verbs, body = kind, connect = body.kind }) => ({
            subresource: name,
            responseKind: { ...groupVersionKind(body), kind: connect },
            verbs,
          })),
        }
      : {}),
  };
}
