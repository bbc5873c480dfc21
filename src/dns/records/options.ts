import type { Name } from '../../dnswire/data.ts';

/** Which records there are, and for how long they may be remembered. */
export interface RecordOptions {
  /** The zone of this cluster's own Services, such as `cluster.local`. */
  readonly clusterDomain: Name;
  /** The zone of ServiceImports, such as `clusterset.local`; none by default. */
  readonly clustersetDomain?: Name;
  /** The zone of ImportedServices, such as `supercluster.local`; none by default. */
  readonly superclusterDomain?: Name;
  /** Seconds, for every record; by default those of `ttls`. */
  readonly ttl?: number;
  /** Which Pods have names: none (the default), every address that can be written, or those that exist. */
  readonly pods?: 'disabled' | 'insecure' | 'verified';
  /** Endpoints without a hostname are called after their Pod rather than their address. */
  readonly endpointPodNames?: boolean;
  /** Leave out what comes from endpoints: headless Services and the names of endpoints. */
  readonly noEndpoints?: boolean;
  /** A Service with a cluster IP and no ready endpoint does not exist, so that search lists go on. */
  readonly ignoreEmptyService?: boolean;
  /** Headless Services also answer by topology zone: `<zone>.pin._zone.<service>` and `<zone>.prefer._zone.<service>`. */
  readonly zonal?: boolean;
  /** Whether `srvServiceName` is heeded, which is what its gate says; true by default. */
  readonly srvServiceNames?: boolean;
}

/** Seconds for which answers may be remembered. */
const ttls = {
  /** What stays for the life of its Service: virtual addresses and what leads to them. */
  stable: 30,
  /** What follows Pods, and aliases. */
  moving: 5,
  /** The version of the schema. */
  version: 28_800,
} as const;

/** The TTL of records that change as `pace` says. */
export const ttlOf = ({ ttl }: Pick<RecordOptions, 'ttl'>, pace: keyof typeof ttls): number => ttl ?? ttls[pace];

/** The name of a Service, imported or not, in a zone. */
export const serviceName = (service: string, namespace: string, zone: Name): Name =>
  `${service}.${namespace}.svc.${zone}`;

const longestLabel = 63;
/** 255 bytes on the wire, less a length byte at each end. */
const longestName = 253;

/** Whether a name made of plain labels fits into a message. */
export const fits = (name: Name): boolean =>
  name.length <= longestName && name.split('.').every((label) => label !== '' && label.length <= longestLabel);
