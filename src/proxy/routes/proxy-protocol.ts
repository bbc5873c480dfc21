// The wish of a Service that its endpoints are told who the client is, before the client says anything.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { RouteProblem } from '../backend.ts';
import { isLoopback } from './decide.ts';
import type { RouteOptions } from './options.ts';
import type { Route } from './route.ts';
import { placeText } from './route.ts';

/** On a Service: `v1` or `v2`, how its endpoints are told who the client is. */
const annotation = 'proxy.fairlead.dev/proxy-protocol';

const wishOf = ({ metadata }: Service): string | undefined => metadata.annotations?.[annotation];

/** The routes of a Service as its annotation asks: only connections have a beginning, and only listeners can add to it. */
export function withProxyProtocol(
  routes: readonly Route[],
  service: Service,
  { relays }: RouteOptions,
): readonly Route[] {
  const asked = wishOf(service);
  if (asked !== 'v1' && asked !== 'v2') return routes;
  const isRelayed = (route: Route): boolean => relays === 'everywhere' || isLoopback(route.address);
  return routes.map((route) => (isTcp(route) && isRelayed(route) ? { ...route, proxyProtocol: asked } : route));
}

/** What a Service asks for by its annotation, and its routes do not give: endpoints that expect it understand no client. */
export function proxyProtocolProblem(service: Service, routes: readonly Route[]): RouteProblem | undefined {
  const asked = wishOf(service);
  const without = routes.filter((route) => isTcp(route) && route.proxyProtocol === undefined);
  const [first] = without;
  if (asked === undefined || first === undefined) return undefined;
  const { owner } = first;
  const told = (text: string): RouteProblem => ({ owner, reason: 'ProxyProtocolIgnored', text });
  if (asked !== 'v1' && asked !== 'v2') {
    return told(`${owner}: ${annotation} is ${JSON.stringify(asked)}, and ignored: set it to v1 or v2, or remove it`);
  }
  return told(
    `${owner}: ${annotation} is ignored at ${places(without)}, where rules of the kernel pass connections on unchanged: ` +
      "set the proxy's mode to userspace, or remove it",
  );
}

const isTcp = ({ protocol }: Route): boolean => protocol === 'TCP';

/** Places that are named, so that a sentence about many ports is still one. */
const mostNamed = 3;

function places(routes: readonly Route[]): string {
  const named = routes.slice(0, mostNamed).map(placeText);
  const more = routes.length - named.length;
  return `${named.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
