// Names of endpoints and the records that refer to them, for Services and imports.
import { dashed } from '../../api/addresses.ts';
import type { Endpoint, EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Name, RecordSet } from '../../dnswire/data.ts';
import { addressSets, addressType, canonical } from './addresses.ts';
import type { RecordOptions } from './options.ts';
import { fits } from './options.ts';
import type { SrvLabels } from '../../api/kinds/core/service/srv-names.ts';
import { srvRecord, srvSets } from './srv.ts';

/** An address of an endpoint with the name of the endpoint in its service. */
export interface NamedAddress {
  readonly address: string;
  /** Undefined if it would exceed the length of a name. */
  readonly name: Name | undefined;
  readonly zone: string | undefined;
  readonly hasHostname: boolean;
}

/** The first label of an endpoint's name at one of its addresses. */
function endpointLabel(
  { hostname, targetRef }: Endpoint,
  address: string,
  options: Pick<RecordOptions, 'endpointPodNames'>,
): string {
  if (hostname) return hostname.toLowerCase();
  const pod = options.endpointPodNames === true && targetRef?.kind === 'Pod' ? (targetRef.name ?? '') : '';
  // The name of a Pod may contain dots or exceed a label.
  return pod === '' || pod.length > 63 || pod.includes('.') ? dashed(address) : pod;
}

/** The addresses of published endpoints, each with its name below `parent`. */
export function namedAddresses(
  { endpoints, addressType: kind }: EndpointSlice,
  parent: Name,
  {
    options,
    publishes,
  }: { readonly options: Pick<RecordOptions, 'endpointPodNames'>; readonly publishes: (endpoint: Endpoint) => boolean },
): readonly NamedAddress[] {
  if (kind === 'FQDN') return [];
  const found: NamedAddress[] = [];
  for (const endpoint of endpoints ?? []) {
    if (!publishes(endpoint)) continue;
    for (const text of endpoint.addresses ?? []) {
      const address = canonical(text);
      if (address === undefined) continue;
      const name = `${endpointLabel(endpoint, address, options)}.${parent}`;
      found.push({
        address,
        name: fits(name) ? name : undefined,
        zone: endpoint.zone,
        hasHostname: Boolean(endpoint.hostname),
      });
    }
  }
  return found;
}

/** One set of addresses per name, in order. */
export function addressesByName(addresses: readonly NamedAddress[], ttl: number): readonly RecordSet[] {
  const byName = new Map<Name, string | string[]>();
  for (const { name, address } of addresses) {
    if (name === undefined) continue;
    const previous = byName.get(name);
    if (previous === undefined) byName.set(name, address);
    else if (typeof previous === 'string') byName.set(name, [previous, address]);
    else previous.push(address);
  }
  return [...byName].flatMap(([owner, found]) => {
    if (typeof found !== 'string') return addressSets(owner, ttl, found);
    const type = addressType(found);
    return [{ owner, type, ttl, data: [{ type, address: found }] }];
  });
}

/** The SRV records of endpoints: one for each name and port. */
export function endpointSrvSets(
  owner: Name,
  ttl: number,
  {
    slice,
    addresses,
    labels,
  }: {
    readonly slice: EndpointSlice;
    readonly addresses: readonly NamedAddress[];
    readonly labels: SrvLabels | undefined;
  },
): readonly RecordSet[] {
  const names = [...new Set(addresses.flatMap(({ name }) => name ?? []))];
  const ports = (slice.ports ?? []).map((port) => {
    // Clients of a headless Service connect to the Pod's port, which is that of the slice; a slice port may have no number.
    const { port: number } = port;
    return { port, data: number === undefined ? [] : names.map((name) => srvRecord(number, name)) };
  });
  return srvSets(owner, ttl, { ports, labels });
}
