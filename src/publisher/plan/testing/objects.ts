import type { Node } from '../../../api/kinds/core/node/schema.ts';
import type { Service, ServiceSpec } from '../../../api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import { parseData } from '../../../dnswire/text.ts';
import type { ZoneInput } from '../changes.ts';
import type { Claim } from '../claim.ts';
import type { RecordSet, ZoneContent } from '../record-set.ts';
import { recordSet } from '../record-set.ts';
import type { ZonePlan } from '../zone-planner.ts';
import { ZonePlanner } from '../zone-planner.ts';

/** A load balancer at 192.0.2.1 for `shop.example.org`, with a port `http`. */
export function service(
  spec: Partial<ServiceSpec> = {},
  {
    name = 'shop',
    annotations = {},
    ingress = [{ ip: '192.0.2.1' }],
    since = '2026-01-01T00:00:00Z',
  }: {
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ingress?: NonNullable<NonNullable<Service['status']>['loadBalancer']['ingress']>;
    readonly since?: string;
  } = {},
): Service {
  return {
    metadata: {
      namespace: 'default',
      name,
      creationTimestamp: since,
      annotations: { 'fairlead.dev/hostname': 'shop.example.org', ...annotations },
    },
    spec: {
      type: 'LoadBalancer',
      clusterIP: '10.96.0.1',
      clusterIPs: ['10.96.0.1'],
      ports: [{ name: 'http', port: 80, protocol: 'TCP' }],
      ...spec,
    },
    status: { loadBalancer: { ingress } },
  };
}

/** A slice of IPv4 endpoints with port `http`. */
export const slice = (
  endpoints: readonly Partial<Endpoint>[],
  labels: Readonly<Record<string, string>> = {},
): EndpointSlice => ({
  metadata: { namespace: 'default', name: 'slice', labels },
  addressType: 'IPv4',
  endpoints: endpoints.map((endpoint) => ({ addresses: [], conditions: {}, ...endpoint })),
  ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
});

/** A node with addresses, ready unless its conditions differ. */
export const node = (
  name: string,
  addresses: Readonly<Record<string, string>>,
  rest: { readonly isReady?: boolean; readonly unschedulable?: boolean } = {},
): Node => ({
  metadata: { name },
  spec: rest.unschedulable === true ? { unschedulable: true } : {},
  // A cast because a status has more fields than the publisher reads.
  status: {
    addresses: Object.entries(addresses).map(([type, address]) => ({ type, address })),
    conditions: [{ type: 'Ready', status: rest.isReady === false ? 'False' : 'True' }],
  } as unknown as Node['status'],
});

/** The sets of claims as lines `name ttl type values`, sorted. */
export const lines = (sets: Iterable<RecordSet>): readonly string[] =>
  [...sets].map(({ name, ttl, type, values }) => `${name} ${ttl} ${type} ${values.join(' | ')}`).toSorted();

/** A zone from lines `name ttl type value`; lines of one name and type are one set. */
export function zoneOf(text: string): ZoneContent {
  const sets = new Map<string, RecordSet>();
  for (const line of text
    .split('\n')
    .map((each) => each.trim())
    .filter((each) => each !== '')) {
    const [name = '', ttl = '', type = '', ...rest] = line.split(' ');
    const value = rest.join(' ');
    if (type !== 'SOA' && type !== 'MX' && type !== 'DNAME' && parseData(type, value) === undefined)
      throw new Error(`bad line: ${line}`);
    const key = `${name} ${type}`;
    sets.set(key, recordSet(name, type, { ttl: Number(ttl), values: [...(sets.get(key)?.values ?? []), value] }));
  }
  return Map.groupBy(sets.values(), ({ name }) => name);
}

/** The claim of an object with sets. */
export const claim = (sets: readonly RecordSet[], rest: Partial<Claim> = {}): Claim => ({
  resource: 'service/default/shop',
  namespace: 'default',
  since: '2026-01-01T00:00:00Z',
  refusals: [],
  properties: {},
  ...rest,
  sets,
});

/** Runs work to its end at once. */
export function atOnce<T>(work: Generator<undefined, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Compares a zone with what is to be in it, from scratch. */
export const planZone = (input: ZoneInput): ZonePlan =>
  atOnce(new ZonePlanner().update(input, { desired: [], content: undefined }));
