import { namespaceKind } from '../../api/kinds/core/namespace/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { gatewayBetaKind, gatewayKind } from '../../api/kinds/gateway/gateway/kind.ts';
import type { Gateway } from '../../api/kinds/gateway/gateway/schema.ts';
import type { GatewayClass } from '../../api/kinds/gateway/gatewayclass/kind.ts';
import { gatewayClassBetaKind, gatewayClassKind } from '../../api/kinds/gateway/gatewayclass/kind.ts';
import type { ReferenceGrant } from '../../api/kinds/gateway/referencegrant/kind.ts';
import { referenceGrantBetaKind, referenceGrantKind } from '../../api/kinds/gateway/referencegrant/kind.ts';
import {
  tcpRouteAlphaKind,
  tcpRouteKind,
  udpRouteAlphaKind,
  udpRouteKind,
} from '../../api/kinds/gateway/route/kinds.ts';
import type { Route } from '../../api/kinds/gateway/route/schema.ts';
import { serviceImportAlphaKind, serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { Informer } from '../../client/informer.ts';
import type { Informers } from '../../client/informers.ts';
import type { OptionalInformer } from '../../client/optional-informer.ts';
import { backendKey } from './backends.ts';
import { gatewaysOf } from './plan.ts';

type RouteIndex = 'gateway' | 'backend';

/** The caches of the gateway controller. Those besides classes and Gateways run once there is a Gateway to serve. */
export interface GatewayCaches {
  readonly classes: OptionalInformer<GatewayClass>;
  readonly gateways: OptionalInformer<Gateway, 'class'>;
  readonly tcpRoutes: OptionalInformer<Route, RouteIndex>;
  readonly udpRoutes: OptionalInformer<Route, RouteIndex>;
  readonly grants: OptionalInformer<ReferenceGrant, 'namespace'>;
  readonly serviceImports: OptionalInformer<ServiceImport>;
  readonly namespaces: Informer<ApiObject>;
  readonly slices: Informer<EndpointSlice, 'service' | 'import'>;
}

const routeIndexes = {
  gateway: gatewaysOf,
  backend: (route: Route): readonly string[] =>
    (route.spec.rules ?? [])
      .flatMap(({ backendRefs }) => backendRefs ?? [])
      .map((reference) => backendKey(reference, route)),
};

export const openGatewayCaches = (
  informers: Informers,
  slices: Informer<EndpointSlice, 'service' | 'import'>,
): GatewayCaches => ({
  classes: informers.optional([gatewayClassKind, gatewayClassBetaKind]),
  gateways: informers.optional([gatewayKind, gatewayBetaKind], {
    indexes: { class: ({ spec }) => [spec.gatewayClassName] },
  }),
  tcpRoutes: informers.optional([tcpRouteKind, tcpRouteAlphaKind], { indexes: routeIndexes }),
  udpRoutes: informers.optional([udpRouteKind, udpRouteAlphaKind], { indexes: routeIndexes }),
  grants: informers.optional([referenceGrantKind, referenceGrantBetaKind], {
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ''] },
  }),
  serviceImports: informers.optional([serviceImportKind, serviceImportAlphaKind]),
  namespaces: informers.of<ApiObject>(namespaceKind),
  slices,
});
