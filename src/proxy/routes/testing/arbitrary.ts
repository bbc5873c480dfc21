// Random Services with random endpoints, for properties about all routes there can be.
import * as fc from 'fast-check';

import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type { DecisionTable, Flow } from '../decide.ts';
import { decide, originOf, rulesFor } from '../decide.ts';
import { endpoint, network, node, slice } from './objects.ts';
import type { Action, Route, Target } from '../route.ts';
import { routesOf } from '../routes.ts';

/** A node that can serve everything. */
const dualNode = { ...node, nodePortAddresses: ['192.0.2.1', '2001:db8::1'] };

const families = {
  IPv4: (host: number) => ({ vip: `10.96.0.${host}`, balancer: `203.0.113.${host}`, pod: `10.1.${host % 2}.${host}` }),
  IPv6: (host: number) => ({
    vip: `2001:db8:96::${host.toString(16)}`,
    balancer: `2001:db8:5::${host.toString(16)}`,
    pod: `2001:db8:1::${host.toString(16)}`,
  }),
} as const;

const endpointOf = (family: 'IPv4' | 'IPv6') =>
  fc
    .record({
      host: fc.integer({ min: 1, max: 9 }),
      state: fc.constantFrom('ready' as const, 'ready' as const, 'terminating' as const, 'gone' as const),
    })
    .map(({ host, ...settings }) =>
      endpoint(families[family](host).pod, { ...settings, node: host % 2 === 0 ? 'n1' : 'n2' }),
    );

/** The options of a random Service; its number determines its addresses. */
const service = fc
  .record({
    family: fc.constantFrom('IPv4' as const, 'IPv6' as const),
    protocols: fc.uniqueArray(fc.constantFrom('TCP' as const, 'UDP' as const, 'SCTP' as const), { minLength: 1 }),
    type: fc.constantFrom('ClusterIP' as const, 'NodePort' as const, 'LoadBalancer' as const),
    external: fc.constantFrom('Cluster' as const, 'Local' as const),
    internal: fc.constantFrom('Cluster' as const, 'Local' as const),
    sticky: fc.constantFrom(0, 0, 60, 3600),
    ranges: fc.subarray(['192.0.2.0/25', '10.1.0.0/24', '2001:db8::/33', '203.0.113.0/24'] as const),
    isGated: fc.boolean(),
  })
  .map((given) => ({
    ...given,
    routesWith: (host: number, slices: readonly EndpointSlice[]) => routes(given, host, slices),
  }));

interface Given {
  readonly family: 'IPv4' | 'IPv6';
  readonly protocols: readonly ('TCP' | 'UDP' | 'SCTP')[];
  readonly type: 'ClusterIP' | 'NodePort' | 'LoadBalancer';
  readonly external: 'Cluster' | 'Local';
  readonly internal: 'Cluster' | 'Local';
  readonly sticky: number;
  readonly ranges: readonly string[];
  readonly isGated: boolean;
}

function routes(given: Given, host: number, slices: readonly EndpointSlice[]): readonly Route[] {
  const { vip, balancer } = families[given.family](host);
  const gated = { ports: [{ port: 80, protocol: 'TCP' as const, error: 'Closed' }] };
  const object: Service = {
    metadata: { namespace: 'shop', name: `s${host}` },
    spec: {
      clusterIP: vip,
      type: given.type,
      ports: given.protocols.map((protocol) => ({ name: protocol, protocol, port: 80, nodePort: 30_000 + host })),
      externalTrafficPolicy: given.external,
      internalTrafficPolicy: given.internal,
      loadBalancerSourceRanges: [...given.ranges],
      ...(given.sticky === 0
        ? {}
        : {
            sessionAffinity: 'ClientIP',
            sessionAffinityConfig: { clientIP: { timeoutSeconds: given.sticky } },
          }),
    },
    status: { loadBalancer: { ingress: [{ ip: balancer, ...(given.isGated ? gated : {}) }] } },
  };
  return routesOf({ service: object, slices, node: dualNode });
}

/** The routes of one Service with this number, in one of its states. */
export const routesOfService = (host: number): fc.Arbitrary<readonly Route[]> =>
  fc
    .tuple(service, fc.infiniteStream(fc.integer({ min: 1, max: 3 })), fc.boolean())
    .chain(([given, weights, isMixed]) =>
      fc.array(endpointOf(given.family), { maxLength: 6 }).map((endpoints) => {
        const made = given.routesWith(host, [
          slice(endpoints, {
            addressType: given.family,
            ports: given.protocols.map((protocol) => ({ name: protocol, protocol, port: 8080 })),
          }),
        ]);
        return isMixed ? made.map((route) => mixed(route, weights)) : made;
      }),
    );

/** Varies weights and affinity of targets, as in imports of several clusters. */
function mixed(route: Route, weights: fc.Stream<number>): Route {
  const vary = (action: Action): Action => {
    if (action.type !== 'forward') return action;
    const targets = action.targets.map((target) => {
      const weight = weights.next().value ?? 1;
      return { ...target, weight, stickySeconds: weight === 2 ? 0 : target.stickySeconds };
    });
    return { ...action, targets };
  };
  const { near } = route;
  const varied = { ...route, action: vary(route.action) };
  return near === undefined ? varied : { ...varied, near: { ...near, action: vary(near.action) } };
}

/** Clients at every kind of source address, by family. */
export const clients = {
  IPv4: ['10.1.0.4', '192.0.2.1', '192.0.2.77', '198.51.100.1', '127.0.0.9'],
  IPv6: ['2001:db8:1::4', '2001:db8::1', '2001:db8::77', '2001:db8:ffff::1', '::1'],
} as const;

/** Whether a client is on the node itself. */
export const isNode = (source: string): boolean =>
  originOf({ ...network, podRanges: [] }, { source, address: '' }) === 'node';

/** The targets of a client, once per weight; `[undefined]` if the connection is not forwarded. */
export function targetsFor(table: DecisionTable, flow: Flow): readonly (Target | undefined)[] {
  const verdict = decide(table, flow, { random: () => 0 });
  if (verdict.type !== 'forward') return [undefined];
  const { action } = rulesFor(verdict.route, originOf(table.network, flow));
  if (action.type !== 'forward') return [undefined];
  return action.targets.flatMap((target) => Array.from({ length: target.weight }, () => target));
}
