// What a load balancer found out about the endpoints of a Service, for whoever carries its traffic.
import { joinHostPort } from '../../../addresses.ts';
import type { Protocol, Service } from './schema.ts';

/** On a Service: the endpoints that do not answer its load balancer, as `192.0.2.5:8080/TCP`, with commas between. */
export const unhealthyAnnotation = 'loadbalancer.fairlead.dev/unhealthy-endpoints';

/** How an endpoint is written; the address must be canonical. */
export const endpointText = (address: string, port: number, protocol: Protocol): string =>
  `${joinHostPort(address, port)}/${protocol}`;

/** The endpoints that a Service's load balancer found not to answer. */
export function unhealthyEndpoints({ metadata }: Service): ReadonlySet<string> {
  const text = metadata.annotations?.[unhealthyAnnotation] ?? '';
  return text === '' ? none : new Set(text.split(','));
}

const none: ReadonlySet<string> = new Set();
