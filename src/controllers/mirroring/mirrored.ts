// The slices that say what an Endpoints object says.
import { familyOf, canonicalAddress } from '../../api/addresses.ts';
import type { Gates } from '../../api/gates.ts';
import type {
  EndpointAddress,
  EndpointPort as CorePort,
  EndpointSubset,
} from '../../api/kinds/core/endpoints/schema.ts';
import type { IpFamily } from '../../api/kinds/core/service/schema.ts';
import type { Endpoint, EndpointPort } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { withoutSrvName } from '../../api/srv-name.ts';
import { repack } from '../subsets.ts';

/** What one slice should hold. */
export interface Mirror {
  readonly addressType: IpFamily;
  readonly ports: readonly EndpointPort[];
  readonly endpoints: readonly Endpoint[];
}

/** The slices of an Endpoints object, and what could not be mirrored. */
export interface Mirrored {
  readonly mirrors: readonly Mirror[];
  readonly invalid: number;
  readonly beyondMax: number;
}

/** One slice for each subset and family; the family of an address alone decides, not those of the Service. */
export function mirrored(subsets: readonly EndpointSubset[], max: number, gates: Gates): Mirrored {
  const copiesSrvName = gates.enabled('SRVServiceName');
  const mirrors: Mirror[] = [];
  let invalid = 0;
  let beyondMax = 0;
  for (const subset of repack(subsets.map((each) => withPorts(each, copiesSrvName)))) {
    const { addresses = [], notReadyAddresses = [], ports = [] } = subset;
    const found: Record<IpFamily, Endpoint[]> = { IPv4: [], IPv6: [] };
    // Ready addresses come first, and so are the last to be left out.
    for (const [ready, list] of [[true, addresses] as const, [false, notReadyAddresses] as const]) {
      for (const address of list) {
        const family = familyOf(address.ip);
        if (found.IPv4.length + found.IPv6.length >= max) beyondMax++;
        else if (family === undefined) invalid++;
        else found[family].push(endpointOf(address, ready));
      }
    }
    for (const addressType of ['IPv4', 'IPv6'] as const) {
      const endpoints = found[addressType];
      if (endpoints.length > 0) mirrors.push({ addressType, ports: ports.map(portOf), endpoints });
    }
  }
  return { mirrors, invalid, beyondMax };
}

/** Ports that differ in a field that is not copied would otherwise end up in two slices with equal ports. */
function withPorts(subset: EndpointSubset, copiesSrvName: boolean): EndpointSubset {
  if (copiesSrvName || subset.ports === undefined) return subset;
  return { ...subset, ports: subset.ports.map(withoutSrvName) };
}

const portOf = ({ name = '', protocol = 'TCP', ...rest }: CorePort): EndpointPort => ({ name, protocol, ...rest });

const endpointOf = ({ ip, hostname, nodeName, targetRef }: EndpointAddress, ready: boolean): Endpoint => ({
  addresses: [canonicalAddress(ip) ?? ip],
  conditions: { ready },
  ...(hostname ? { hostname } : {}),
  ...(targetRef === undefined ? {} : { targetRef }),
  ...(nodeName === undefined ? {} : { nodeName }),
});
