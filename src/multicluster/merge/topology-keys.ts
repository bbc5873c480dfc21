import type { Service } from '../../api/kinds/core/service/schema.ts';

/** An annotation that does what the field `topologyKeys` did, which Kubernetes has dropped: node labels in order. */
const topologyKeysAnnotation = 'fairlead.dev/topology-keys';

/** Near first, then anywhere: what each preference of today says in the words of the seed. */
const keysOfDistribution: Readonly<Record<string, readonly string[]>> = {
  PreferClose: ['topology.kubernetes.io/zone', '*'],
  PreferSameZone: ['topology.kubernetes.io/zone', '*'],
  PreferSameNode: ['kubernetes.io/hostname', 'topology.kubernetes.io/zone', '*'],
};

/** The topology keys of a Service: by annotation, or else by its trafficDistribution; undefined: it has none. */
export function topologyKeysOf({ metadata: { annotations }, spec }: Service): readonly string[] | undefined {
  const given = annotations?.[topologyKeysAnnotation];
  if (given === undefined) return keysOfDistribution[spec.trafficDistribution ?? ''];
  const keys = given
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
  return keys.length > 0 ? keys : undefined;
}
