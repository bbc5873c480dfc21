import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { Route } from './route.ts';

/** On a Service: `v1` or `v2`, how its endpoints are told who the client is. */
const proxyProtocolAnnotation = 'proxy.fairlead.dev/proxy-protocol';

/** What its annotation says for the routes of a port. Only connections have a beginning to say it in. */
export function proxyProtocolOf({ metadata }: Service, { protocol }: ServicePort): Pick<Route, 'proxyProtocol'> {
  const asked = metadata.annotations?.[proxyProtocolAnnotation];
  return (protocol ?? 'TCP') === 'TCP' && (asked === 'v1' || asked === 'v2') ? { proxyProtocol: asked } : {};
}
