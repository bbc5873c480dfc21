// The annotation by which a Service requests the PROXY protocol for its endpoints.
import { isLoopback } from '../../api/addresses.ts';
import { proxyProtocolAnnotation as annotation } from '../../api/kinds/core/service/proxy-protocol.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { RouteProblem } from '../backend.ts';
import type { RouteOptions } from './options.ts';
import type { Route } from './route.ts';
import { placeText } from './route.ts';

const requestedVersion = ({ metadata }: Service): string | undefined => metadata.annotations?.[annotation];

/** Adds the PROXY protocol to routes if the annotation requests it: to TCP routes that listeners relay. */
export function withProxyProtocol(
  routes: readonly Route[],
  service: Service,
  { relays }: RouteOptions,
): readonly Route[] {
  const version = requestedVersion(service);
  if (version !== 'v1' && version !== 'v2') return routes;
  const isRelayed = (route: Route): boolean => relays === 'everywhere' || isLoopback(route.address);
  return routes.map((route) => (isTcp(route) && isRelayed(route) ? { ...route, proxyProtocol: version } : route));
}

/** The problem of a Service whose annotation is invalid or not honored by all routes: endpoints that expect the header fail then. */
export function proxyProtocolProblem(service: Service, routes: readonly Route[]): RouteProblem | undefined {
  const version = requestedVersion(service);
  const without = routes.filter((route) => isTcp(route) && route.proxyProtocol === undefined);
  const [first] = without;
  if (version === undefined || first === undefined) return undefined;
  const { owner } = first;
  const problem = (text: string): RouteProblem => ({ owner, reason: 'ProxyProtocolIgnored', text });
  if (version !== 'v1' && version !== 'v2') {
    return problem(
      `${owner}: ${annotation} is ${JSON.stringify(version)}, and ignored: set it to v1 or v2, or remove it`,
    );
  }
  return problem(
    `${owner}: ${annotation} is ignored at ${places(without)}, where rules of the kernel pass connections on unchanged: ` +
      "set the proxy's mode to userspace, or remove it",
  );
}

const isTcp = ({ protocol }: Route): boolean => protocol === 'TCP';

/** Addresses that a message names. */
const maxNamed = 3;

function places(routes: readonly Route[]): string {
  const named = routes.slice(0, maxNamed).map(placeText);
  const more = routes.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
