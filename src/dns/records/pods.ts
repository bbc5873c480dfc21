// Records of Pods by address: `10-1-2-3.<namespace>.pod.<zone>`.
import { dashed } from '../../api/addresses.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets, canonical, undashed } from './addresses.ts';
import type { RecordOptions } from './options.ts';
import { ttlOf } from './options.ts';

/** The parent of the names of a namespace's Pods. */
export const podDomain = (namespace: string, zone: Name): Name => `${namespace}.pod.${zone}`;

/** The records of a Pod, one name per address; none if it ended or is being deleted. */
export function podRecords(pod: Pod, options: RecordOptions): readonly RecordSet[] {
  const { metadata, status } = pod;
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (options.pods !== 'verified' || isOver || metadata.deletionTimestamp !== undefined) return [];
  const domain = podDomain(metadata.namespace ?? '', options.clusterDomain);
  return podAddresses(pod).flatMap((address) =>
    addressSets(`${dashed(address)}.${domain}`, ttlOf(options, 'volatile'), [address]),
  );
}

function podAddresses({ status }: Pod): readonly string[] {
  const texts = [status?.podIP ?? '', ...(status?.podIPs ?? []).map(({ ip }) => ip)];
  return [...new Set(texts.flatMap((text) => canonical(text) ?? []))];
}

/** The records of any address, whether a Pod has it or not. */
export function podOnDemand(name: Name, encloser: Name, options: RecordOptions): readonly RecordSet[] | undefined {
  const label = name.slice(0, name.length - encloser.length - 1);
  const address = undashed(label);
  return address === undefined ? undefined : addressSets(name, ttlOf(options, 'volatile'), [address]);
}
