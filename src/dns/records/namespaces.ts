// What a namespace adds: names that exist although no Service has any, so that they are NODATA and not NXDOMAIN.
import type { Name, RecordSet } from '../../dnswire/data.ts';
import type { RecordOptions } from './options.ts';
import { podDomain } from './pods.ts';

/** A name without records. */
export const emptyName = (owner: Name): RecordSet => ({ owner, type: 'TXT', ttl: 0, data: [] });

/** The names of a namespace in all zones. */
export function namespaceRecords(namespace: string, options: RecordOptions): readonly RecordSet[] {
  const { clusterDomain, clustersetDomain, superclusterDomain, pods = 'disabled' } = options;
  const zones = [clusterDomain, clustersetDomain, superclusterDomain].filter((zone) => zone !== undefined);
  const names = zones.map((zone) => `${namespace}.svc.${zone}`);
  if (pods === 'verified') names.push(podDomain(namespace, clusterDomain));
  return names.map(emptyName);
}

/** Below these names of a namespace every address that can be written is answered. */
export const namespaceDynamicNames = (namespace: string, { pods, clusterDomain }: RecordOptions): readonly Name[] =>
  pods === 'insecure' ? [podDomain(namespace, clusterDomain)] : [];
