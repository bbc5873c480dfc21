// Which listeners of a Gateway are served, and which routes attach to them. Pure.

import type { Gateway, Listener } from '../../api/kinds/gateway/gateway/schema.ts';
import { gatewayGroup } from '../../api/kinds/gateway/labels.ts';
import type { ParentReference, Route, RouteProtocol } from '../../api/kinds/gateway/route/schema.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import { requirementsOf } from '../../api/selectors/label-selector.ts';
import { compareText } from '../../api/order.ts';
import { keyOf } from '../../client/key.ts';
import type { Wanted } from './conditions.ts';
import { no, yes } from './conditions.ts';

/** A route with the protocol of its kind. */
export interface RouteObject {
  readonly protocol: RouteProtocol;
  readonly route: Route;
}

/** The labels of namespaces; undefined for one that does not exist. */
export type NamespaceLabels = (namespace: string) => Readonly<Record<string, string>> | undefined;

/** What is decided about a listener before its routes. */
export interface ListenerState {
  readonly listener: Listener;
  /** undefined: the protocol has no routes here. */
  readonly protocol: RouteProtocol | undefined;
  readonly isServed: boolean;
  /** The kinds of routes that may attach. */
  readonly kinds: readonly string[];
  /** Accepted, Conflicted and ResolvedRefs. */
  readonly conditions: readonly Wanted[];
}

const protocolOf = ({ protocol }: Listener): RouteProtocol | undefined =>
  protocol === 'TCP' || protocol === 'UDP' ? protocol : undefined;

/** Protocols over TCP share the ports of TCP. */
const transportOf = ({ protocol }: Listener): string => (protocol === 'UDP' ? 'UDP' : 'TCP');

/** Decides about all listeners. `taken`: `protocol/port` → the Gateway that has it at an address which both request. */
export function listenerStates(gateway: Gateway, taken: ReadonlyMap<string, string>): readonly ListenerState[] {
  const listeners = gateway.spec.listeners ?? [];
  return listeners.map((listener) => {
    const protocol = protocolOf(listener);
    const { kinds, invalid } = kindsOf(listener, protocol);
    const rival = listeners.find(
      (other) =>
        other.port === listener.port &&
        transportOf(other) === transportOf(listener) &&
        other.protocol !== listener.protocol,
    );
    const holder = taken.get(`${transportOf(listener)}/${listener.port}`);
    const accepted = acceptance(listener, { protocol, rival, holder });
    return {
      listener,
      protocol,
      isServed: accepted.status === 'True' && kinds.length > 0,
      kinds,
      conditions: [
        accepted,
        rival === undefined
          ? no('Conflicted', 'NoConflicts', '')
          : yes(
              'Conflicted',
              'ProtocolConflict',
              `listener ${JSON.stringify(rival.name)} uses the port for ${rival.protocol}`,
            ),
        invalid.length === 0
          ? yes('ResolvedRefs')
          : no('ResolvedRefs', 'InvalidRouteKinds', `kinds that cannot attach to the protocol: ${invalid.join(', ')}`),
      ],
    };
  });
}

function acceptance(
  listener: Listener,
  {
    protocol,
    rival,
    holder,
  }: {
    readonly protocol: RouteProtocol | undefined;
    readonly rival: Listener | undefined;
    readonly holder: string | undefined;
  },
): Wanted {
  if (protocol === undefined) {
    return no('Accepted', 'UnsupportedProtocol', `protocol ${listener.protocol} is not supported: use TCP or UDP`);
  }
  if (rival !== undefined) {
    return no(
      'Accepted',
      'PortUnavailable',
      `listener ${JSON.stringify(rival.name)} uses the port for ${rival.protocol}`,
    );
  }
  if (holder !== undefined) {
    return no(
      'Accepted',
      'PortUnavailable',
      `Gateway ${holder} has ${protocol} port ${listener.port} of the same address`,
    );
  }
  return yes('Accepted');
}

function kindsOf(
  { allowedRoutes }: Listener,
  protocol: RouteProtocol | undefined,
): { readonly kinds: readonly string[]; readonly invalid: readonly string[] } {
  const possible = protocol === undefined ? [] : [`${protocol}Route`];
  const allowed = allowedRoutes?.kinds ?? [];
  if (allowed.length === 0) return { kinds: possible, invalid: [] };
  const isPossible = ({ group = gatewayGroup, kind }: (typeof allowed)[number]): boolean =>
    group === gatewayGroup && possible.includes(kind);
  return {
    kinds: possible.filter((kind) => allowed.some((each) => isPossible(each) && each.kind === kind)),
    invalid: allowed.filter((each) => !isPossible(each)).map(({ kind }) => kind),
  };
}

/** Whether a parentRef of the route refers to the Gateway. */
export const refersTo = (
  { group = gatewayGroup, kind = 'Gateway', namespace, name }: ParentReference,
  route: Route,
  gateway: Gateway,
): boolean =>
  group === gatewayGroup &&
  kind === 'Gateway' &&
  name === gateway.metadata.name &&
  (namespace ?? route.metadata.namespace) === gateway.metadata.namespace;

/** The listeners that a parentRef attaches a route to, and the condition Accepted. */
export interface Attachment {
  readonly listeners: readonly ListenerState[];
  readonly accepted: Wanted;
}

/** Attaches a route by one parentRef. */
export function attach(
  { protocol, route }: RouteObject,
  { sectionName, port }: ParentReference,
  {
    gateway,
    states,
    labelsOf,
  }: { readonly gateway: Gateway; readonly states: readonly ListenerState[]; readonly labelsOf: NamespaceLabels },
): Attachment {
  const named = states.filter(
    ({ listener }) =>
      (sectionName === undefined || listener.name === sectionName) && (port === undefined || listener.port === port),
  );
  if (named.length === 0) {
    return { listeners: [], accepted: no('Accepted', 'NoMatchingParent', 'no listener has this sectionName and port') };
  }
  const listeners = named.filter(
    (state) => state.kinds.includes(`${protocol}Route`) && allowsNamespace(state.listener, route, gateway, labelsOf),
  );
  if (listeners.length === 0) {
    const message = `no listener allows a ${protocol}Route of namespace ${route.metadata.namespace ?? ''}`;
    return { listeners: [], accepted: no('Accepted', 'NotAllowedByListeners', message) };
  }
  return { listeners, accepted: yes('Accepted') };
}

function allowsNamespace(
  { allowedRoutes }: Listener,
  { metadata: { namespace = '' } }: Route,
  gateway: Gateway,
  labelsOf: NamespaceLabels,
): boolean {
  const { from = 'Same', selector } = allowedRoutes?.namespaces ?? {};
  switch (from) {
    case 'All':
      return true;
    case 'Same':
      return namespace === gateway.metadata.namespace;
    case 'Selector': {
      const requirements = selector === undefined ? undefined : requirementsOf(selector);
      const labels = labelsOf(namespace);
      return requirements !== undefined && labels !== undefined && matchesLabels(requirements, labels);
    }
    default:
      return false;
  }
}

/** Of several routes at one listener, the oldest gets the connections. */
export const byAge = (a: Route, b: Route): number =>
  compareText(a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? '') ||
  compareText(keyOf(a), keyOf(b));

/** The ports that older Gateways have at an address which this one requests, too: `transport/port` → the Gateway. */
export function takenPorts(gateway: Gateway, others: readonly Gateway[]): ReadonlyMap<string, string> {
  const taken = new Map<string, string>();
  const own = new Set(requestedAddresses(gateway));
  if (own.size === 0) return taken;
  for (const other of others) {
    const isOlder =
      compareText(other.metadata.creationTimestamp ?? '', gateway.metadata.creationTimestamp ?? '') ||
      compareText(keyOf(other), keyOf(gateway));
    if (isOlder >= 0 || !requestedAddresses(other).some((address) => own.has(address))) continue;
    for (const { isServed, listener } of listenerStates(other, new Map())) {
      if (isServed) taken.set(`${transportOf(listener)}/${listener.port}`, keyOf(other));
    }
  }
  return taken;
}

/** The IP addresses that a Gateway requests. */
export const requestedAddresses = ({ spec }: Gateway): readonly string[] =>
  (spec.addresses ?? []).flatMap(({ type = 'IPAddress', value = '' }) =>
    type === 'IPAddress' && value !== '' ? [value] : [],
  );
