import { labelSelector, objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import {
  always,
  atomicMap,
  int32,
  json,
  list,
  listMap,
  optional,
  pointer,
  string,
  struct,
} from '../../../schema/schema.ts';
import type { GatewayVersion } from '../shared.ts';
import { conditions, schemaGroup } from '../shared.ts';

const routeKindOf = (group: string) =>
  struct(`${group}.RouteGroupKind`, 'A kind of routes.', {
    group: pointer(1, string, 'Its group; default: gateway.networking.k8s.io.'),
    kind: always(2, string, 'The kind, such as TCPRoute.', { required: true }),
  });

const listenerOf = (group: string) =>
  struct(`${group}.Listener`, 'A port that clients connect to.', {
    name: always(1, string, 'Its name, unique in the Gateway.', { required: true }),
    hostname: pointer(2, string, 'A host name; not for TCP and UDP.'),
    port: always(3, int32, 'The port.', { required: true }),
    protocol: always(4, string, 'The protocol. Fairlead serves TCP and UDP.', { required: true }),
    tls: pointer(5, json, 'TLS settings, for the protocols HTTPS and TLS.'),
    allowedRoutes: pointer(
      6,
      struct(`${group}.AllowedRoutes`, 'The routes that may attach.', {
        namespaces: pointer(
          1,
          struct(`${group}.RouteNamespaces`, 'Namespaces of routes.', {
            from: pointer(1, string, 'All, Same, Selector or None; default: Same.'),
            selector: pointer(2, labelSelector, 'Selects namespaces, for from: Selector.'),
          }),
          'The namespaces whose routes may attach.',
        ),
        kinds: optional(2, list(routeKindOf(group)), 'The kinds that may attach; default: all of the protocol.'),
      }),
      'The routes that may attach.',
    ),
  });

const specOf = (group: string) =>
  struct(`${group}.GatewaySpec`, 'Addresses and ports for clients.', {
    gatewayClassName: always(1, string, 'The GatewayClass.', { required: true }),
    listeners: optional(2, listMap(listenerOf(group), ['name'], { mergeKey: 'name' }), 'The ports, at most 64.'),
    addresses: optional(
      3,
      list(
        struct(`${group}.GatewaySpecAddress`, 'A requested address.', {
          type: pointer(1, string, 'IPAddress (the default), Hostname or a type of a controller.'),
          value: optional(2, string, 'The address.'),
        }),
      ),
      'The requested addresses; default: one of a pool.',
    ),
    infrastructure: pointer(
      4,
      struct(`${group}.GatewayInfrastructure`, 'The Service of the Gateway.', {
        labels: optional(1, atomicMap(string), 'Labels of the Service.'),
        annotations: optional(2, atomicMap(string), 'Annotations of the Service, such as the pool of its address.'),
        parametersRef: pointer(3, json, 'Parameters of the controller. Fairlead has none.'),
      }),
      'The Service of the Gateway.',
    ),
    allowedListeners: pointer(5, json, 'ListenerSets that may attach. Fairlead serves none.'),
    tls: pointer(6, json, 'TLS settings of HTTPS and TLS listeners.'),
    defaultScope: optional(7, string, 'For which routes without a parent the Gateway is the default.'),
  });

const statusOf = (group: string) =>
  struct(`${group}.GatewayStatus`, 'The state of a Gateway.', {
    addresses: optional(
      1,
      list(
        struct(`${group}.GatewayStatusAddress`, 'An assigned address.', {
          type: pointer(1, string, 'IPAddress or Hostname.'),
          value: always(2, string, 'The address.', { required: true }),
        }),
      ),
      'The assigned addresses.',
    ),
    conditions: optional(2, conditions, 'Accepted and Programmed.'),
    listeners: optional(
      3,
      listMap(
        struct(`${group}.ListenerStatus`, 'The state of a listener.', {
          name: always(1, string, 'Its name.', { required: true }),
          supportedKinds: optional(2, list(routeKindOf(group)), 'The kinds of routes that may attach.'),
          attachedRoutes: always(3, int32, 'The number of routes that are attached.', { required: true }),
          conditions: always(4, conditions, 'Accepted, Conflicted, Programmed and ResolvedRefs.', { required: true }),
        }),
        ['name'],
        { mergeKey: 'name' },
      ),
      'The listeners.',
    ),
    attachedListenerSets: pointer(4, int32, 'The number of ListenerSets that are attached.'),
  });

/** The schema of a Gateway in one version. */
export const gatewaySchema = (version: GatewayVersion) => {
  const group = schemaGroup(version);
  return objectSchema(`${group}.Gateway`, 'Addresses and ports that routes connect to Services.', {
    spec: always(2, specOf(group), 'Addresses and ports for clients.'),
    status: optional(3, statusOf(group), 'The state of the Gateway.'),
  });
};

export type Gateway = Infer<ReturnType<typeof gatewaySchema>>;
export type Listener = NonNullable<Gateway['spec']['listeners']>[number];
export type ListenerStatus = NonNullable<NonNullable<Gateway['status']>['listeners']>[number];
