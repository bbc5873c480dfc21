// The public name of a service, which `fairlead publisher` writes into DNS zones outside the clusters.
import { loadBalancerExposure } from '../../api/kinds/core/service/exposure.ts';
import { listOf } from '../../api/kinds/core/service/public-name.ts';
import type { ClusterTargets, MergedPublication } from '../../api/kinds/multicluster/publication.ts';
import type { Component } from './component.ts';
import { publicSetting } from './component.ts';

/**
 * The public name that the oldest export with a name requests, and the addresses of the service in each cluster. Clusters
 * that request another name are left out; those that request none are included.
 */
export function publicationOf(components: readonly Component[]): MergedPublication | undefined {
  const first = components.find(({ hostname }) => hostname !== undefined);
  if (first?.hostname === undefined) return undefined;
  const ttl = publicSetting(first.record, 'ttl');
  return {
    hostname: first.hostname,
    ...(ttl === undefined ? {} : { ttl }),
    clusters: components.filter(({ hostname }) => hostname === undefined || hostname === first.hostname).map(targetsOf),
  };
}

function targetsOf({ cluster, record }: Component): ClusterTargets {
  const { service } = record;
  if (service === undefined) return { cluster, targets: [], ports: [] };
  const { addresses, hostnames, ports } = loadBalancerExposure(service);
  const chosen = listOf(publicSetting(record, 'target'));
  return { cluster, targets: chosen.length > 0 ? chosen : [...addresses, ...hostnames], ports };
}
