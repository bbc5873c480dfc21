import type { Name } from '../../dnswire/data.ts';

/** Selects the records and their TTLs. */
export interface RecordOptions {
  /** The zone of this cluster's own Services, such as `cluster.local`. */
  readonly clusterDomain: Name;
  /** The zone of ServiceImports, such as `clusterset.local`; none by default. */
  readonly clustersetDomain?: Name;
  /** The zone of ImportedServices, such as `supercluster.local`; none by default. */
  readonly superclusterDomain?: Name;
  /** TTL of every record in seconds; by default those of `ttls`. */
  readonly ttl?: number;
  /** Which Pods have records: none (the default), every possible address, or Pods that exist. */
  readonly pods?: 'disabled' | 'insecure' | 'verified';
  /** Names endpoints without a hostname by their Pod instead of their address. */
  readonly endpointPodNames?: boolean;
  /** Publishes neither headless Services nor names of endpoints. */
  readonly noEndpoints?: boolean;
  /** Hides a Service with a cluster IP and no ready endpoint, so that resolvers continue with their search list. */
  readonly ignoreEmptyService?: boolean;
  /** Publishes headless Services by topology zone too: `<zone>.pin._zone.<service>` and `<zone>.prefer._zone.<service>`. */
  readonly zonal?: boolean;
  /** Whether `srvServiceName` is used: the state of its gate; true by default. */
  readonly srvServiceNames?: boolean;
}

/** TTLs in seconds. */
const ttls = {
  /** Records that last as long as their Service: virtual IPs and names that refer to them. */
  stable: 30,
  /** Records of endpoints and Pods, and aliases. */
  volatile: 5,
  /** The schema version. */
  version: 28_800,
} as const;

/** The TTL of a class of records. */
export const ttlOf = ({ ttl }: Pick<RecordOptions, 'ttl'>, ttlClass: keyof typeof ttls): number =>
  ttl ?? ttls[ttlClass];

/** The name of a Service, imported or not, in a zone. */
export const serviceName = (service: string, namespace: string, zone: Name): Name =>
  `${service}.${namespace}.svc.${zone}`;

const longestLabel = 63;
/** 255 bytes on the wire, less a length byte at each end. */
const longestName = 253;

/** Whether a name of plain labels can be encoded. */
export const fits = (name: Name): boolean =>
  name.length <= longestName && name.split('.').every((label) => label !== '' && label.length <= longestLabel);
