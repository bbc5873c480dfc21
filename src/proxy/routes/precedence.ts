// Decides which of several owners gets an address: an allocated address takes precedence over a claimed one; of equals, the
// older owner wins.
import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import { canonicalAddress } from '../../api/addresses.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { importAddresses } from './import.ts';
import type { FrontendKind } from './route.ts';
import { routeKey } from './route.ts';
import type { RouteInput } from './routes.ts';
import { clusterAddresses } from './service.ts';

/** The rank of a claim. The lower rank wins, whatever the age of the owners. */
export type Rank = 0 | 1 | 2 | 3 | 4;

/** Each basis of a claim: its rank and its text in messages. */
const bases = {
  /** Allocated by the API server. */
  clusterIP: { rank: 0, text: 'is the cluster IP' },
  /** Allocated by the multi-cluster controller from its own ranges. */
  import: { rank: 1, text: 'is the address' },
  /** Port allocated by the API server, valid at addresses of nodes. */
  nodePort: { rank: 2, text: 'has the node port' },
  healthCheck: { rank: 2, text: 'has the health check port' },
  /** Allocated by a load balancer controller in the status. */
  loadBalancer: { rank: 3, text: 'is the load balancer address' },
  /** Claimed in the spec of the Service. */
  externalIP: { rank: 4, text: 'is an external IP' },
} as const satisfies Record<string, { readonly rank: Rank; readonly text: string }>;

export type Basis = keyof typeof bases;

export const rankOf = (basis: Basis): Rank => bases[basis].rank;

export const basisText = (basis: Basis): string => bases[basis].text;

/** Reserves an address or one port of it against claims of a higher rank number, also without a route of the holder. */
export interface Reservation {
  /** An address, or the key of a route. */
  readonly place: string;
  readonly basis: Basis;
}

/** What decides between owners with the same claim. */
export interface Precedence {
  /** Creation timestamp: of two claims of one rank, the older one wins. */
  readonly since: string;
  /** It is an import, or a Service derived from one: its cluster IPs are those of the import. */
  readonly isImport: boolean;
  readonly reservations: readonly Reservation[];
}

/** The basis of a claim to a route. */
export const basisOf = (kind: FrontendKind, isImport: boolean): Basis =>
  kind === 'clusterIP' && isImport ? 'import' : kind;

/** The precedence of the owner of routes. */
export function precedenceOf(input: RouteInput): Precedence {
  if ('service' in input) {
    const { metadata } = input.service;
    const isImport = metadata.annotations?.[derivedFromAnnotation] !== undefined;
    return { since: metadata.creationTimestamp ?? '', isImport, reservations: serviceReservations(input, isImport) };
  }
  const { imported, serviceImport } = input.import;
  const since = (imported ?? serviceImport)?.metadata.creationTimestamp ?? '';
  const reservations = importAddresses(input.import).map((place): Reservation => ({ place, basis: 'import' }));
  return { since, isImport: true, reservations };
}

/** Includes addresses that another proxy serves, and those of load balancers with ipMode Proxy. */
function serviceReservations(
  { service, node }: RouteInput & { readonly service: Service },
  isImport: boolean,
): Reservation[] {
  const { spec, status } = service;
  if (isExternalName(service) || isHeadless(service)) return [];
  const basis = basisOf('clusterIP', isImport);
  const reservations = clusterAddresses(spec).map((place): Reservation => ({ place, basis }));
  if (spec.type !== 'LoadBalancer') return reservations;
  for (const { ip = '' } of status?.loadBalancer?.ingress ?? []) {
    const place = canonicalAddress(ip);
    if (place !== undefined) reservations.push({ place, basis: 'loadBalancer' });
  }
  if (spec.healthCheckNodePort) {
    for (const address of node.nodePortAddresses) {
      const place = routeKey({ address, protocol: 'TCP', port: spec.healthCheckNodePort });
      reservations.push({ place, basis: 'healthCheck' });
    }
  }
  return reservations;
}
