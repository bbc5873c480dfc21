// Which owner gets an address that several claim: an address that was allocated to an owner goes before one that an owner
// only claims, and age decides between equals.
import { isExternalName, isHeadless } from '../../api/kinds/core/service/facts.ts';
import { canonicalAddress } from '../../api/addresses.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { derivedFromAnnotation } from '../../api/kinds/multicluster/labels.ts';
import { importAddresses } from './import.ts';
import type { FrontendKind } from './route.ts';
import { routeKey } from './route.ts';
import type { RouteInput } from './routes.ts';
import { clusterAddresses } from './service.ts';

/** How well founded a claim is; the lower rank wins, whatever the age of the owners. */
export type Rank = 0 | 1 | 2 | 3 | 4;

/** Each basis of a claim: its rank, and how messages say that an address is claimed on it. */
const bases = {
  /** The API server allocated it: nobody else can have it in its spec. */
  clusterIP: { rank: 0, text: 'is the cluster IP' },
  /** The multi-cluster controller allocated it, from ranges of its own. */
  import: { rank: 1, text: 'is the address' },
  /** The API server allocated the port, which is why it holds at the addresses of nodes only. */
  nodePort: { rank: 2, text: 'has the node port' },
  healthCheck: { rank: 2, text: 'has the health check port' },
  /** A load balancer controller allocated it and wrote it into the status. */
  loadBalancer: { rank: 3, text: 'is the load balancer address' },
  /** The author of the Service wrote it. */
  externalIP: { rank: 4, text: 'is an external IP' },
} as const satisfies Record<string, { readonly rank: Rank; readonly text: string }>;

export type Basis = keyof typeof bases;

export const rankOf = (basis: Basis): Rank => bases[basis].rank;

export const basisText = (basis: Basis): string => bases[basis].text;

/** An address, or one port of it, that no claim of a higher rank gets, also where the holder itself has no route. */
export interface Hold {
  /** An address, or the key of a route. */
  readonly place: string;
  readonly basis: Basis;
}

/** What decides between an owner and others that claim the same. */
export interface Standing {
  /** When it was created, as text: of two claims of one rank the older one wins. */
  readonly since: string;
  /** It is an import, or the Service that is derived from one: its cluster IPs are those of the import. */
  readonly isImport: boolean;
  readonly holds: readonly Hold[];
}

/** What a claim to a route is based on. */
export const basisOf = (kind: FrontendKind, isImport: boolean): Basis =>
  kind === 'clusterIP' && isImport ? 'import' : kind;

/** The standing of the owner of routes. */
export function standingOf(input: RouteInput): Standing {
  if ('service' in input) {
    const { metadata } = input.service;
    const isImport = metadata.annotations?.[derivedFromAnnotation] !== undefined;
    return { since: metadata.creationTimestamp ?? '', isImport, holds: serviceHolds(input, isImport) };
  }
  const { imported, serviceImport } = input.import;
  const since = (imported ?? serviceImport)?.metadata.creationTimestamp ?? '';
  const holds = importAddresses(input.import).map((place): Hold => ({ place, basis: 'import' }));
  return { since, isImport: true, holds };
}

/** Also what another proxy serves, and addresses of load balancers that take their traffic elsewhere (ipMode Proxy). */
function serviceHolds({ service, node }: RouteInput & { readonly service: Service }, isImport: boolean): Hold[] {
  const { spec, status } = service;
  if (isExternalName(service) || isHeadless(service)) return [];
  const basis = basisOf('clusterIP', isImport);
  const holds = clusterAddresses(spec).map((place): Hold => ({ place, basis }));
  if (spec.type !== 'LoadBalancer') return holds;
  for (const { ip = '' } of status?.loadBalancer?.ingress ?? []) {
    const place = canonicalAddress(ip);
    if (place !== undefined) holds.push({ place, basis: 'loadBalancer' });
  }
  if (spec.healthCheckNodePort) {
    for (const address of node.nodePortAddresses) {
      const place = routeKey({ address, protocol: 'TCP', port: spec.healthCheckNodePort });
      holds.push({ place, basis: 'healthCheck' });
    }
  }
  return holds;
}
