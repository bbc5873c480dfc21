// The routes of one import, described by objects of both API versions together.
import type { IpFamily } from '../../api/addresses.ts';
import { canonicalAddress, familyOf } from '../../api/addresses.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import { actionsFor, servingOf, stickySeconds } from './actions.ts';
import { candidatesIn } from './candidates.ts';
import type { ThisNode } from './options.ts';
import type { Route } from './route.ts';
import type { Selection } from './selection.ts';
import { select } from './selection.ts';

/** What the routes of an import depend on. Both objects describe one service; either may be missing. */
export interface ImportInput {
  /** `namespace/name`. */
  readonly key: string;
  readonly imported: ImportedService | undefined;
  readonly serviceImport: ServiceImport | undefined;
  /** Slices of this import, of every cluster. */
  readonly slices: readonly EndpointSlice[];
  readonly node: ThisNode;
}

/** One port of an import. */
export interface ImportPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
}

/** The owner name of an import in the routing table. */
export const importOwner = (key: string): string => `Import ${key}`;

/**
 * The routes of an import: its addresses and ports. Endpoints of all clusters are used equally, each under the topology keys,
 * readiness rule and affinity of its own cluster (MCS-131, MCS-133, MCS-134).
 */
export function importRoutes(input: ImportInput): readonly Route[] {
  return importAddresses(input).flatMap((address) => {
    const family = familyOf(address) ?? 'IPv4';
    return importPorts(input).map((port) => portRoute(port, address, family, input));
  });
}

/** The addresses of an import in this cluster, canonical; none if it is headless. */
export function importAddresses({
  imported,
  serviceImport,
}: Pick<ImportInput, 'imported' | 'serviceImport'>): readonly string[] {
  const ips = serviceImport?.spec?.type === 'Headless' ? [] : (serviceImport?.spec?.ips ?? []);
  const ip = imported?.spec?.ip;
  return [...new Set([...(ip === undefined ? [] : [ip]), ...ips].flatMap((text) => canonicalAddress(text) ?? []))];
}

/** The ports of an import. */
export function importPorts({
  imported,
  serviceImport,
}: Pick<ImportInput, 'imported' | 'serviceImport'>): readonly ImportPort[] {
  const ports = imported?.spec?.ports ?? serviceImport?.spec?.ports ?? [];
  return ports.map(({ name = '', protocol = 'TCP', port }) => ({ name, protocol, port }));
}

/** Selects the endpoints of one port. */
export function selectForImport(port: ImportPort, family: IpFamily, input: Omit<ImportInput, 'key'>): Selection {
  const { imported, serviceImport, slices, node } = input;
  const clusters = imported?.spec?.clusters ?? [];
  const publishNotReady = new Set(
    clusters.filter((each) => each.publishNotReadyAddresses === true).map(({ cluster }) => cluster),
  );
  const topologyKeys = new Map(clusters.map(({ cluster, topologyKeys: keys = [] }) => [cluster, keys] as const));
  const wanted = { family, portName: port.name, protocol: port.protocol, publishNotReady };
  // Hints were computed for one cluster's Service; they apply only if the import has a trafficDistribution.
  const useHints = serviceImport?.spec?.trafficDistribution !== undefined;
  return select(candidatesIn(slices, wanted), { node, useHints, topologyKeys });
}

function portRoute(port: ImportPort, address: string, family: IpFamily, input: ImportInput): Route {
  const { imported, serviceImport, node, key } = input;
  const selection = selectForImport(port, family, input);
  const defaultSeconds = stickySeconds(serviceImport?.spec ?? {});
  const perCluster = new Map((imported?.spec?.clusters ?? []).map((each) => [each.cluster, stickySeconds(each)]));
  const actions = actionsFor(selection, node, (cluster = '') => perCluster.get(cluster) ?? defaultSeconds);
  const policy = serviceImport?.spec?.internalTrafficPolicy === 'Local' ? 'Local' : 'Cluster';
  return {
    owner: importOwner(key),
    portName: port.name,
    kind: 'clusterIP',
    family,
    address,
    protocol: port.protocol,
    port: port.port,
    action: actions[policy],
    masquerade: 'outsiders',
    ...(port.protocol === 'UDP' ? { serving: servingOf(selection) } : {}),
  };
}
