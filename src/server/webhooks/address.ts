// The address of a webhook: its URL, or an endpoint of a Service of this cluster.
import { isReady, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { isExternalName } from '../../api/kinds/core/service/facts.ts';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { WebhookClientConfig } from '../../api/kinds/admissionregistration/webhook-schema.ts';
import type { WatchCache } from '../cache/watch-cache.ts';

export interface Address {
  /** The URL as configured, for certificates and error messages. */
  readonly url: string;
  /** The endpoint to connect to; undefined: the host of the URL. Throws the error of Kubernetes if there is none. */
  resolve(): Endpoint | undefined;
}

/** An address and a port to connect to. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** A port of a Service; default: 443. */
export interface ServicePort {
  readonly namespace: string;
  readonly name: string;
  readonly port?: number;
}

export function addressOf({ url = '', service }: WebhookClientConfig, watchCache: WatchCache): Address {
  if (service === undefined) return { url, resolve: () => undefined };
  const { namespace, name, port = 443, path = '' } = service;
  return { url: `https://${name}.${namespace}.svc:${port}${path}`, resolve: () => endpointOf(service, watchCache) };
}

/**
 * A random ready endpoint of a Service, as kube-apiserver with `--enable-aggregator-routing`: cluster IPs need a proxy,
 * which the machine of the API server may not have.
 */
export function endpointOf({ namespace, name, port = 443 }: ServicePort, watchCache: WatchCache): Endpoint {
  const services = watchCache.of(serviceKind);
  const service = services.get(services.key(namespace, name))?.object as Service | undefined;
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
  if (isExternalName(service)) return { host: service.spec.externalName ?? '', port };
  const servicePort = (service.spec.ports ?? []).find((each) => each.port === port);
  if (servicePort === undefined) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const ready = readyEndpoints({ namespace, name }, servicePort.name ?? '', watchCache);
  const chosen = ready[Math.floor(Math.random() * ready.length)];
  if (chosen === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
  return chosen;
}

/** The ready endpoints of a port of a Service, by the name of the port. */
export function readyEndpoints(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  port: string,
  watchCache: WatchCache,
): readonly Endpoint[] {
  const slices = watchCache.of(endpointSliceKind);
  return slices
    .range(slices.scope(namespace))
    .map(({ object }) => object as EndpointSlice)
    .filter((slice) => serviceKeyOf(slice) === `${namespace}/${name}`)
    .flatMap((slice) => readyIn(slice, port));
}

function readyIn({ endpoints, ports }: EndpointSlice, name: string): readonly Endpoint[] {
  const { port } = (ports ?? []).find((each) => (each.name ?? '') === name) ?? {};
  if (port === undefined) return [];
  return (endpoints ?? [])
    .filter(isReady)
    .flatMap(({ addresses }) => (addresses ?? []).slice(0, 1).map((host) => ({ host, port })));
}
