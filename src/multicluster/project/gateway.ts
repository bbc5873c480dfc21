// The slices of services that clusters reach through gateways.
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { isReady, isServing, isTerminating } from '../../api/kinds/discovery/endpointslice/facts.ts';
import {
  gatewayProxyProtocolAnnotation,
  importersAnnotation,
  printPlace,
} from '../../api/kinds/multicluster/gateway.ts';
import type { AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import { proxyProtocolAnnotation } from '../../api/kinds/core/service/proxy-protocol.ts';
import { isInAudience } from '../merge/audience.ts';
import type { Merged } from '../merge/merged.ts';
import type { ClusterExport } from '../record.ts';
import type { LocalGateway } from '../vip/gateway-ports.ts';

/** How the slices of a cluster that is reached by its gateway are mirrored. Plain data. */
export interface GatewayRule {
  readonly addressType: EndpointSlice['addressType'];
  /** The gateways of the importing cluster. */
  readonly endpoints: readonly Endpoint[];
  /** `protocol/name` of a port of the service → the port of these gateways. */
  readonly ports: Readonly<Record<string, number>>;
  /** The gateways of the source cluster. */
  readonly remote: string;
}

/** Whether a cluster reaches an export by gateways. */
export const isByGateway = (importer: string, { cluster, advertised }: ClusterExport): boolean =>
  cluster !== importer && advertised?.mode === 'gateway';

/** The rule for the slices of an export in a cluster that reaches it by gateways. */
export function gatewayRule(record: ClusterExport, { replicas, portOf }: LocalGateway): GatewayRule | undefined {
  const addressType = replicas.some((each) => each.addressType === 'IPv4') ? 'IPv4' : 'IPv6';
  const endpoints = replicas
    .filter((each) => each.addressType === addressType)
    .map(({ endpoint: { addresses, conditions, nodeName, zone } }) => ({
      addresses,
      conditions,
      ...(nodeName === undefined ? {} : { nodeName }),
      ...(zone === undefined ? {} : { zone }),
    }));
  const { cluster, namespace, name, advertised } = record;
  const [slice] = advertised?.slices ?? [];
  if (endpoints.length === 0 || slice === undefined) return undefined;
  const ports = (slice.ports ?? []).flatMap(({ name: port = '', protocol = 'TCP' }): readonly [string, number][] => {
    const allocated = protocol === 'SCTP' ? undefined : portOf({ cluster, namespace, name, port, protocol });
    return allocated === undefined ? [] : [[`${protocol}/${port}`, allocated]];
  });
  // The guard may have dropped some of the addresses.
  const accepted = new Set(
    (advertised?.slices ?? []).flatMap((each) => (each.endpoints ?? []).flatMap(({ addresses }) => addresses)),
  );
  const remote = (advertised?.gateways ?? []).filter(({ host }) => accepted.has(host)).map(printPlace);
  return { addressType, endpoints, ports: Object.fromEntries(ports), remote: remote.join() };
}

/** A slice of the remote service with the gateways of this cluster in place of its endpoints. */
export function throughGateway(slice: EndpointSlice, { addressType, endpoints, ports }: GatewayRule): EndpointSlice {
  const isAnyReady = (slice.endpoints ?? []).some(isReady);
  return {
    ...slice,
    addressType,
    endpoints: endpoints.map((each) => ({
      ...each,
      conditions: {
        ready: isAnyReady && isReady(each),
        serving: isAnyReady && isServing(each),
        terminating: isTerminating(each),
      },
    })),
    ports: (slice.ports ?? []).flatMap((each) => {
      const port = ports[`${each.protocol ?? 'TCP'}/${each.name ?? ''}`];
      return port === undefined ? [] : [{ ...each, port }];
    }),
  };
}

/** On slices of a cluster's own exports, for its gateways: the clusters that may connect, and the PROXY protocol. */
export function exportAnnotations(
  record: ClusterExport,
  members: readonly AudienceMember[],
): Readonly<Record<string, string>> {
  const { cluster, service, advertised } = record;
  if (advertised?.mode !== 'gateway') return {};
  const version = service?.metadata.annotations?.[proxyProtocolAnnotation];
  const importers = members.filter((each) => each.id !== cluster && isInAudience({ cluster, record }, each));
  return {
    [importersAnnotation]: importers
      .map(({ id }) => id)
      .toSorted()
      .join(),
    ...(version === undefined ? {} : { [gatewayProxyProtocolAnnotation]: version }),
  };
}

/** Why a cluster does not reach services of others by gateways. */
export function gatewayRefusals(
  { exporters }: Merged,
  importer: string,
  gateway: LocalGateway | undefined,
): readonly { readonly reason: 'NoGateway'; readonly message: string }[] {
  const remote = exporters
    .filter(({ verdict, record }) => verdict.state === 'valid' && isByGateway(importer, record))
    .filter(({ record: { advertised } }) => advertised?.problem === undefined);
  if (remote.length === 0 || (gateway?.replicas.length ?? 0) > 0) return [];
  const clusters = remote.map(({ cluster }) => cluster).join(', ');
  return [
    {
      reason: 'NoGateway',
      message: `cluster ${importer} has no gateway to reach Services of ${clusters}: run \`fairlead gateway\` in it`,
    },
  ];
}
