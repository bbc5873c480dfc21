// The backends of routes: which exist, and which may be referred to. Pure.

import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { gatewayGroup } from '../../api/kinds/gateway/labels.ts';
import type { ReferenceGrant } from '../../api/kinds/gateway/referencegrant/kind.ts';
import type { BackendReference, Route } from '../../api/kinds/gateway/route/schema.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { Wanted } from './conditions.ts';
import { no, yes } from './conditions.ts';
import type { RouteObject } from './listeners.ts';

const importGroup = 'multicluster.x-k8s.io';

/** What plans read about backends. Keys are `namespace/name`. */
export interface BackendCaches {
  readonly service: (key: string) => Service | undefined;
  readonly serviceImport: (key: string) => ServiceImport | undefined;
  readonly slicesOfService: (key: string) => readonly EndpointSlice[];
  readonly slicesOfImport: (key: string) => readonly EndpointSlice[];
  readonly grants: (namespace: string) => readonly ReferenceGrant[];
}

/** A backend that gets connections. */
export interface Backend {
  /** `Service shop/web 80`. */
  readonly id: string;
  readonly weight: number;
  /** The name of the port in the slices. */
  readonly portName: string;
  readonly slices: readonly EndpointSlice[];
}

/** The backends of a route, and the condition ResolvedRefs. */
export interface Resolution {
  readonly backends: readonly Backend[];
  readonly resolved: Wanted;
}

/** The key of the object that a backendRef names, with its kind: `Service shop/web`. */
export const backendKey = ({ kind = 'Service', namespace, name }: BackendReference, route: Route): string =>
  `${kind} ${namespace ?? route.metadata.namespace ?? ''}/${name}`;

/** Resolves all backendRefs of a route. The first that cannot be resolved determines the condition. */
export function resolve(object: RouteObject, caches: BackendCaches): Resolution {
  const references = (object.route.spec.rules ?? []).flatMap(({ backendRefs }) => backendRefs ?? []);
  const results = references.map((reference) => resolveOne(object, reference, caches));
  return {
    backends: results.flatMap((result) => ('id' in result && result.weight > 0 ? [result] : [])),
    resolved: results.find((result): result is Wanted => 'reason' in result) ?? yes('ResolvedRefs'),
  };
}

function resolveOne(
  { protocol, route }: RouteObject,
  reference: BackendReference,
  caches: BackendCaches,
): Backend | Wanted {
  const { group = '', kind = 'Service', name, port, weight = 1 } = reference;
  const isImport = group === importGroup && kind === 'ServiceImport';
  if (!isImport && (group !== '' || kind !== 'Service')) {
    return no(
      'ResolvedRefs',
      'InvalidKind',
      `${kind}${group === '' ? '' : `.${group}`} ${name} is no Service or ServiceImport`,
    );
  }
  const own = route.metadata.namespace ?? '';
  const namespace = reference.namespace ?? own;
  const key = `${namespace}/${name}`;
  if (
    namespace !== own &&
    !isGranted({ route: `${protocol}Route`, from: own, group, kind, name }, caches.grants(namespace))
  ) {
    return no('ResolvedRefs', 'RefNotPermitted', `no ReferenceGrant in namespace ${namespace} permits ${kind} ${name}`);
  }
  const ports = isImport ? caches.serviceImport(key)?.spec?.ports : portsOf(caches.service(key));
  if (ports === undefined) return no('ResolvedRefs', 'BackendNotFound', `${kind} ${key} not found`);
  const numbered = ports.filter((each) => each.port === port);
  const found = numbered.find((each) => protocolOf({ protocol: each.protocol ?? 'TCP' }) === protocol);
  if (found === undefined) {
    return numbered.length > 0
      ? no('ResolvedRefs', 'UnsupportedProtocol', `port ${port} of ${kind} ${key} is not for ${protocol}`)
      : no('ResolvedRefs', 'BackendNotFound', `${kind} ${key} has no port ${port ?? ''}`);
  }
  return {
    id: `${kind} ${key} ${port ?? ''}`,
    weight,
    portName: found.name ?? '',
    slices: isImport ? caches.slicesOfImport(key) : caches.slicesOfService(key),
  };
}

const portsOf = (service: Service | undefined): Service['spec']['ports'] =>
  service === undefined ? undefined : (service.spec.ports ?? []);

/** Whether a grant permits the reference. */
function isGranted(
  {
    route,
    from,
    group,
    kind,
    name,
  }: {
    readonly route: string;
    readonly from: string;
    readonly group: string;
    readonly kind: string;
    readonly name: string;
  },
  grants: readonly ReferenceGrant[],
): boolean {
  return grants.some(
    ({ spec }) =>
      (spec.from ?? []).some((each) => each.group === gatewayGroup && each.kind === route && each.namespace === from) &&
      (spec.to ?? []).some(
        (each) =>
          each.group === group &&
          each.kind === kind &&
          (each.name === undefined || each.name === '' || each.name === name),
      ),
  );
}
