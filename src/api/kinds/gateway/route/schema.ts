import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, int32, list, optional, pointer, string, struct } from '../../../schema/schema.ts';
import type { GatewayVersion } from '../shared.ts';
import { conditions, schemaGroup } from '../shared.ts';

/** The protocols that have routes here. */
export type RouteProtocol = 'TCP' | 'UDP';

const parentReferenceOf = (group: string) =>
  struct(`${group}.ParentReference`, 'A Gateway, or listeners of it, that the route attaches to.', {
    group: pointer(1, string, 'Its group; default: gateway.networking.k8s.io.'),
    kind: pointer(2, string, 'Its kind; default: Gateway.'),
    namespace: pointer(3, string, 'Its namespace; default: that of the route.'),
    name: always(4, string, 'Its name.', { required: true }),
    sectionName: pointer(5, string, 'The name of a listener; default: all of the protocol.'),
    port: pointer(6, int32, 'The port of listeners; default: all.'),
  });

const backendReferenceOf = (group: string) =>
  struct(`${group}.BackendRef`, 'A Service that connections are sent to.', {
    group: pointer(1, string, 'Its group; default: the core group. multicluster.x-k8s.io for a ServiceImport.'),
    kind: pointer(2, string, 'Service (the default) or ServiceImport.'),
    name: always(3, string, 'Its name.', { required: true }),
    namespace: pointer(4, string, 'Its namespace; default: that of the route. Others need a ReferenceGrant there.'),
    port: pointer(5, int32, 'The port of the Service.'),
    weight: pointer(6, int32, 'Its share of connections relative to the other backends; default: 1, none: 0.'),
  });

/** The schema of a TCPRoute or UDPRoute in one version. */
export const routeSchema = (protocol: RouteProtocol, version: GatewayVersion) => {
  const group = schemaGroup(version);
  const parent = parentReferenceOf(group);
  const rule = struct(`${group}.${protocol}RouteRule`, 'Where connections are sent.', {
    name: pointer(1, string, 'Its name.'),
    backendRefs: optional(2, list(backendReferenceOf(group)), 'The backends, 1 to 16.', { required: true }),
  });
  const parentStatus = struct(`${group}.RouteParentStatus`, 'The state of the route at one parent.', {
    parentRef: always(1, parent, 'The parent, as in the spec.', { required: true }),
    controllerName: always(2, string, 'The controller of the parent.', { required: true }),
    conditions: optional(3, conditions, 'Accepted and ResolvedRefs.'),
  });
  return objectSchema(`${group}.${protocol}Route`, `Sends ${protocol} connections of Gateways to Services.`, {
    spec: always(
      2,
      struct(`${group}.${protocol}RouteSpec`, 'Gateways and backends.', {
        parentRefs: optional(1, list(parent), 'The Gateways, at most 32.'),
        useDefaultGateways: optional(3, string, 'Which default Gateways the route attaches to.'),
        rules: optional(2, list(rule), 'Exactly one rule.', { required: true }),
      }),
      'Gateways and backends.',
    ),
    status: optional(
      3,
      struct(`${group}.${protocol}RouteStatus`, 'The state of the route.', {
        parents: always(1, list(parentStatus), 'The state at each parent.', { required: true }),
      }),
      'The state of the route.',
    ),
  });
};

export type Route = Infer<ReturnType<typeof routeSchema>>;
export type ParentReference = NonNullable<Route['spec']['parentRefs']>[number];
export type RouteParentStatus = NonNullable<NonNullable<Route['status']>['parents']>[number];
export type BackendReference = NonNullable<NonNullable<Route['spec']['rules']>[number]['backendRefs']>[number];
