// The addresses and ports that health checks connect to.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import { canonicalAddress } from '../../api/addresses.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { endpointText } from '../../api/kinds/core/service/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';

/** An address and TCP port to connect to. */
export interface Target {
  readonly address: string;
  readonly port: number;
  /** The endpoints whose health it determines, as in the annotation: itself and the UDP port of the same number. */
  readonly endpoints: readonly string[];
}

/**
 * The targets of a Service: its TCP ports on every ready endpoint. A UDP port cannot be probed; it has the health of the TCP
 * port of the same number, or none.
 */
export function targetsOf(service: Service, slices: readonly EndpointSlice[]): readonly Target[] {
  const twins = udpTwins(service);
  const found = new Map<string, Target>();
  for (const slice of slices) {
    const ports = slice.ports ?? [];
    const tcp = ports.filter(({ protocol = 'TCP' }) => protocol === 'TCP');
    for (const endpoint of slice.endpoints ?? []) {
      const address = canonicalAddress(endpoint.addresses?.[0] ?? '');
      if (address === undefined || !isReady(endpoint)) continue;
      for (const { name = '', port } of tcp) {
        if (port === undefined) continue;
        const twin = ports.find((other) => other.protocol === 'UDP' && other.name === twins.get(name))?.port;
        found.set(`${address} ${port}`, {
          address,
          port,
          endpoints: [
            endpointText(address, port, 'TCP'),
            ...(twin === undefined ? [] : [endpointText(address, twin, 'UDP')]),
          ],
        });
      }
    }
  }
  return [...found.values()];
}

/** Name of a TCP port → name of the UDP port of the same number. */
function udpTwins({ spec: { ports = [] } }: Service): ReadonlyMap<string, string> {
  return new Map(
    ports.flatMap(({ name = '', port, protocol = 'TCP' }) => {
      const twin = ports.find((other) => other.port === port && other.protocol === 'UDP');
      return protocol === 'TCP' && twin !== undefined ? [[name, twin.name ?? ''] as const] : [];
    }),
  );
}
