// Where a webhook is: at the URL it gives, or behind a Service of this cluster.
import { isReady, serviceKeyOf } from '../../../api/kinds/discovery/endpointslice/facts.ts';
import { isExternalName } from '../../../api/kinds/core/service/facts.ts';
import { serviceKind } from '../../../api/kinds/core/service/kind.ts';
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type {
  ServiceReference,
  WebhookClientConfig,
} from '../../../api/kinds/admissionregistration/validatingwebhookconfiguration/schema.ts';
import type { WatchCache } from '../../cache/watch-cache.ts';

/** Whom to call, and where. */
export interface Address {
  /** As it is named: what certificates and error messages say. */
  readonly url: string;
  /** Where it is now; undefined: at the host of the URL. Throws why it is nowhere, in Kubernetes' words. */
  resolve(): Place | undefined;
}

interface Place {
  readonly host: string;
  readonly port: number;
}

/** The address of a webhook. */
export function addressOf({ url = '', service }: WebhookClientConfig, watchCache: WatchCache): Address {
  if (service === undefined) return { url, resolve: () => undefined };
  const { namespace, name, port = 443, path = '' } = service;
  return { url: `https://${name}.${namespace}.svc:${port}${path}`, resolve: () => behind(service, watchCache) };
}

/**
 * One of the endpoints of a Service, as kube-apiserver does with `--enable-aggregator-routing`: a cluster IP is of use
 * only where a proxy serves it, and the machine of the API server need not have one.
 */
function behind({ namespace, name, port = 443 }: ServiceReference, watchCache: WatchCache): Place {
  const services = watchCache.of(serviceKind);
  const service = services.get(services.key(namespace, name))?.object as Service | undefined;
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
  if (isExternalName(service)) return { host: service.spec.externalName ?? '', port };
  const wanted = (service.spec.ports ?? []).find((each) => each.port === port);
  if (wanted === undefined) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const slices = watchCache.of(endpointSliceKind);
  const ready = slices
    .range(slices.scope(namespace))
    .map(({ object }) => object as EndpointSlice)
    .filter((slice) => serviceKeyOf(slice) === `${namespace}/${name}`)
    .flatMap((slice) => readyIn(slice, wanted.name ?? ''));
  const chosen = ready[Math.floor(Math.random() * ready.length)];
  if (chosen === undefined) throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
  return chosen;
}

function readyIn({ endpoints, ports }: EndpointSlice, name: string): readonly Place[] {
  const { port } = (ports ?? []).find((each) => (each.name ?? '') === name) ?? {};
  if (port === undefined) return [];
  return (endpoints ?? [])
    .filter(isReady)
    .flatMap(({ addresses }) => (addresses ?? []).slice(0, 1).map((host) => ({ host, port })));
}
