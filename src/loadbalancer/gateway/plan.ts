// What a Gateway needs: the Service with its address and ports, EndpointSlices with the endpoints of its routes, and the status of
// Gateway and routes. Pure.

import { createHash } from 'node:crypto';

import { familyOf } from '../../api/addresses.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { portNumberIn } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Gateway, ListenerStatus } from '../../api/kinds/gateway/gateway/schema.ts';
import {
  backendAnnotation,
  gatewayController,
  gatewayGroup,
  gatewayNameLabel,
  weightAnnotation,
} from '../../api/kinds/gateway/labels.ts';
import type { Route, RouteParentStatus } from '../../api/kinds/gateway/route/schema.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import { keyOf } from '../../client/key.ts';
import { allocationAnnotations } from '../providers/local/allocation-request.ts';
import type { Backend, BackendCaches } from './backends.ts';
import { resolve } from './backends.ts';
import type { Wanted } from './conditions.ts';
import { no, withConditions, yes } from './conditions.ts';
import type { ListenerState, NamespaceLabels, RouteObject } from './listeners.ts';
import { attach, byAge, listenerStates, refersTo, requestedAddresses, takenPorts } from './listeners.ts';

/** The manager of the slices of Gateways. */
export const slicesManager = 'gateway.fairlead.dev';

/** What the plan for a Gateway depends on. */
export interface GatewayInput extends BackendCaches {
  readonly gateway: Gateway;
  /** All routes with a parentRef to the Gateway, or a status for it. */
  readonly routes: readonly RouteObject[];
  /** The other Gateways that this controller serves. */
  readonly others: readonly Gateway[];
  readonly labelsOf: NamespaceLabels;
  /** The object with the name of the Service of the Gateway, whoever created it. */
  readonly current: Service | undefined;
  /** RFC 3339. */
  readonly now: string;
}

/** What must be written for a Gateway. */
export interface GatewayPlan {
  readonly status: NonNullable<Gateway['status']>;
  /** undefined: no listener is served, so that it has none. */
  readonly service: Service | undefined;
  readonly slices: readonly EndpointSlice[];
  /** The status of each route, with the entries of other controllers and Gateways unchanged. */
  readonly routes: readonly { readonly object: RouteObject; readonly parents: readonly RouteParentStatus[] }[];
}

/** Plans a Gateway. */
export function planGateway(input: GatewayInput): GatewayPlan {
  const { gateway, routes, others } = input;
  const states = listenerStates(gateway, takenPorts(gateway, others));
  const attached = routes.map((object) => attachAll(object, states, input));
  const isUsable = unusable(gateway) === undefined;
  const served = isUsable ? states.filter(({ isServed }) => isServed) : [];
  const slices = served.flatMap((state) => {
    const [oldest] = attached
      .filter(({ listeners }) => listeners.has(state))
      .toSorted((a, b) => byAge(a.object.route, b.object.route));
    return (oldest?.backends ?? []).flatMap((backend) => slicesFor(gateway, state, backend));
  });
  const service = served.length === 0 ? undefined : serviceFor(gateway, served);
  return {
    status: statusOf(input, { states, served, attached }),
    service,
    slices,
    routes: attached.map(({ object, parents }) => ({ object, parents })),
  };
}

/** A route with what it attaches to. */
interface AttachedRoute {
  readonly object: RouteObject;
  readonly listeners: ReadonlySet<ListenerState>;
  readonly backends: readonly Backend[];
  readonly parents: readonly RouteParentStatus[];
}

function attachAll(object: RouteObject, states: readonly ListenerState[], input: GatewayInput): AttachedRoute {
  const { gateway, now } = input;
  const { route } = object;
  const { backends, resolved } = resolve(object, input);
  const references = (route.spec.parentRefs ?? []).filter((each) => refersTo(each, route, gateway));
  const old = route.status?.parents ?? [];
  const listeners = new Set<ListenerState>();
  const own = references.map((parentRef): RouteParentStatus => {
    const attachment = attach(object, parentRef, { ...input, states });
    for (const state of attachment.listeners) listeners.add(state);
    const before = old.find((each) => each.controllerName === gatewayController && isSame(each.parentRef, parentRef));
    const generation = route.metadata.generation ?? 0;
    const conditions = withConditions(before?.conditions, [attachment.accepted, resolved], { generation, now });
    return { parentRef, controllerName: gatewayController, conditions };
  });
  const others = old.filter(
    ({ controllerName, parentRef }) => controllerName !== gatewayController || !refersTo(parentRef, route, gateway),
  );
  return { object, listeners, backends, parents: [...others, ...own] };
}

const isSame = (a: RouteParentStatus['parentRef'], b: RouteParentStatus['parentRef']): boolean =>
  a.namespace === b.namespace && a.name === b.name && a.sectionName === b.sectionName && a.port === b.port;

/** Why no listener of a Gateway can be served. */
function unusable({ spec }: Gateway): Wanted | undefined {
  if (spec.infrastructure?.parametersRef !== undefined) {
    return no('Accepted', 'InvalidParameters', 'parameters are not supported: remove infrastructure.parametersRef');
  }
  const other = (spec.addresses ?? []).find(({ type = 'IPAddress' }) => type !== 'IPAddress');
  return other === undefined
    ? undefined
    : no('Accepted', 'UnsupportedAddress', `addresses of type ${other.type ?? ''} are not supported: use IPAddress`);
}

function statusOf(
  { gateway, current, now }: GatewayInput,
  {
    states,
    served,
    attached,
  }: {
    readonly states: readonly ListenerState[];
    readonly served: readonly ListenerState[];
    readonly attached: readonly AttachedRoute[];
  },
): NonNullable<Gateway['status']> {
  const old = gateway.status;
  const at = { generation: gateway.metadata.generation ?? 0, now };
  const isOwn = current !== undefined && isOwnedBy(current, gateway);
  const ingress = isOwn ? (current.status.loadBalancer.ingress ?? []) : [];
  const addresses = ingress.flatMap(({ ip = '', hostname = '' }) =>
    ip !== '' ? [{ type: 'IPAddress', value: ip }] : hostname !== '' ? [{ type: 'Hostname', value: hostname }] : [],
  );
  const programmed = programming({ gateway, current, isOwn, served, hasAddress: addresses.length > 0 });
  const listeners = states.map((state): ListenerStatus => {
    const { listener, kinds, conditions } = state;
    const isServed = served.includes(state);
    const before = (old?.listeners ?? []).find(({ name }) => name === listener.name);
    const ready = !isServed
      ? no('Programmed', 'Invalid', 'the listener is not served')
      : programmed.status === 'True'
        ? yes('Programmed')
        : no('Programmed', 'Pending', programmed.message);
    return {
      name: listener.name,
      supportedKinds: kinds.map((kind) => ({ group: gatewayGroup, kind })),
      attachedRoutes: attached.filter((each) => each.listeners.has(state)).length,
      conditions: withConditions(before?.conditions, [...conditions, ready], at),
    };
  });
  return {
    ...(addresses.length === 0 ? {} : { addresses }),
    conditions: withConditions(old?.conditions, [acceptance(gateway, states, served), programmed], at),
    listeners,
  };
}

function acceptance(gateway: Gateway, states: readonly ListenerState[], served: readonly ListenerState[]): Wanted {
  const why = unusable(gateway);
  if (why !== undefined) return why;
  if (served.length === 0) return no('Accepted', 'ListenersNotValid', 'no listener is served');
  return served.length === states.length
    ? yes('Accepted')
    : yes('Accepted', 'ListenersNotValid', 'some listeners are not served');
}

function programming({
  gateway,
  current,
  isOwn,
  served,
  hasAddress,
}: {
  readonly gateway: Gateway;
  readonly current: Service | undefined;
  readonly isOwn: boolean;
  readonly served: readonly ListenerState[];
  readonly hasAddress: boolean;
}): Wanted {
  if (served.length === 0) return no('Programmed', 'Invalid', 'no listener is served');
  if (current !== undefined && !isOwn) {
    return no('Programmed', 'NoResources', `Service ${keyOf(current)} exists and does not belong to the Gateway`);
  }
  const problem = (current?.status.conditions ?? []).find(({ status }) => status === 'True')?.message;
  if (hasAddress && problem === undefined) return yes('Programmed');
  if (requestedAddresses(gateway).length > 0 && problem !== undefined)
    return no('Programmed', 'AddressNotUsable', problem);
  return no('Programmed', 'AddressNotAssigned', problem ?? 'the load balancer has not assigned an address yet');
}

/** Whether the object was created for the Gateway. */
export const isOwnedBy = ({ metadata }: Pick<Service, 'metadata'>, gateway: Gateway): boolean =>
  (metadata.ownerReferences ?? []).some(({ uid }) => uid === gateway.metadata.uid);

/** The name of the Service of a Gateway. Names of Gateways can be longer, and have dots. */
export function serviceNameOf({ metadata: { name = '' } }: Gateway): string {
  return /^[a-z](?:[-a-z0-9]{0,52}[a-z0-9])?$/.test(name) ? `${name}-fairlead` : `gateway-${hashOf(name)}`;
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 10);

const ownerOf = ({ metadata: { name = '', uid = '' } }: Gateway): OwnerReference => ({
  apiVersion: `${gatewayGroup}/v1`,
  kind: 'Gateway',
  name,
  uid,
  controller: true,
});

const portNameOf = ({ listener, protocol = 'TCP' }: ListenerState): string =>
  `${protocol.toLowerCase()}-${listener.port}`;

/** The Service whose address clients connect to. */
function serviceFor(gateway: Gateway, served: readonly ListenerState[]): Service {
  const { labels, annotations } = gateway.spec.infrastructure ?? {};
  const addresses = requestedAddresses(gateway);
  const families = [...new Set(addresses.flatMap((address) => familyOf(address) ?? []))];
  return {
    metadata: {
      name: serviceNameOf(gateway),
      namespace: gateway.metadata.namespace ?? '',
      labels: { ...labels, [gatewayNameLabel]: gateway.metadata.name ?? '' },
      annotations: {
        ...annotations,
        ...(addresses.length === 0
          ? {}
          : {
              [allocationAnnotations.addresses]: addresses.join(','),
              // Gateways that request the same address share it, as long as their ports differ.
              [allocationAnnotations.sharingKey]: annotations?.[allocationAnnotations.sharingKey] ?? slicesManager,
            }),
      },
      ownerReferences: [ownerOf(gateway)],
    },
    spec: {
      type: 'LoadBalancer',
      ...(families.length === 0 ? {} : { ipFamilies: families }),
      ...(families.length > 1 ? { ipFamilyPolicy: 'RequireDualStack' as const } : {}),
      ports: served.map((state) => ({
        name: portNameOf(state),
        port: state.listener.port,
        protocol: state.protocol ?? 'TCP',
      })),
    },
    status: { loadBalancer: {} },
  };
}

/** The slices of one backend at one listener: those of the backend with the port that it has there. */
function slicesFor(
  gateway: Gateway,
  state: ListenerState,
  { id, weight, portName, slices }: Backend,
): readonly EndpointSlice[] {
  const protocol = state.protocol ?? 'TCP';
  return slices.flatMap((slice): readonly EndpointSlice[] => {
    const port = portNumberIn(slice, { name: portName, protocol });
    if (port === undefined || (slice.endpoints ?? []).length === 0 || slice.addressType === 'FQDN') return [];
    const cluster = slice.metadata.labels?.[sourceClusterLabel];
    const source = `${state.listener.name} ${id} ${slice.metadata.namespace ?? ''}/${slice.metadata.name ?? ''}`;
    return [
      {
        metadata: {
          name: `${serviceNameOf(gateway)}-${hashOf(source)}`,
          namespace: gateway.metadata.namespace ?? '',
          labels: {
            [serviceNameLabel]: serviceNameOf(gateway),
            [managedByLabel]: slicesManager,
            [gatewayNameLabel]: gateway.metadata.name ?? '',
            ...(cluster === undefined ? {} : { [sourceClusterLabel]: cluster }),
          },
          annotations: { [backendAnnotation]: id, [weightAnnotation]: String(weight) },
          ownerReferences: [ownerOf(gateway)],
        },
        addressType: slice.addressType,
        endpoints: (slice.endpoints ?? []).map(({ hostname: _hostname, targetRef: _target, ...endpoint }) => endpoint),
        ports: [{ name: portNameOf(state), port, protocol }],
      },
    ];
  });
}

/** The keys of the Gateways of a route, by its parentRefs and its status. */
export function gatewaysOf(route: Route): readonly string[] {
  const references = [
    ...(route.spec.parentRefs ?? []),
    ...(route.status?.parents ?? []).flatMap(({ controllerName, parentRef }) =>
      controllerName === gatewayController ? [parentRef] : [],
    ),
  ];
  return [
    ...new Set(
      references.flatMap(({ group = gatewayGroup, kind = 'Gateway', namespace, name }) =>
        group === gatewayGroup && kind === 'Gateway' ? [`${namespace ?? route.metadata.namespace ?? ''}/${name}`] : [],
      ),
    ),
  ];
}
