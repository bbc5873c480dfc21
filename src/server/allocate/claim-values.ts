// A claim is a key in the store that gives one address or node port to a Service. The server that creates the key owns it.
import type { Entry } from '../../store/store.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';

/** The prefix of the IPAddress objects; the rest of a key is the canonical address. */
export const addressPrefix = '/registry/networking.k8s.io/ipaddresses/';

/** The prefix of the node port claims; the rest of a key is the port. */
export const portPrefix = '/registry/nodeports/';

/** The fields of an address claim that do not come from the Service. */
export interface AddressClaim {
  readonly ip: string;
  readonly family: IpFamily;
  readonly uid: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** Returns the stored IPAddress object that gives `ip` to a Service. */
export function addressClaim({ metadata }: Service, { ip, family, uid, now }: AddressClaim): string {
  // Built as text, since every create of a Service runs it. Only the two names need escaping.
  return (
    `{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"${ip}","uid":"${uid}",` +
    `"creationTimestamp":"${now}","labels":{"ipaddress.kubernetes.io/ip-family":"${family}",` +
    `"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},"spec":{"parentRef":{"resource":"services",` +
    `"namespace":${JSON.stringify(metadata.namespace ?? '')},"name":${JSON.stringify(metadata.name ?? '')}}}}`
  );
}

/** Returns the claim that gives a node port to a Service. */
export const portClaim = ({ metadata }: Service): string =>
  JSON.stringify({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });

interface Parent {
  readonly namespace?: string;
  readonly name?: string;
  readonly spec?: { readonly parentRef?: Parent & { readonly resource?: string } };
}

/** Whether a claim belongs to the Service. Another Service may own the key after somebody deleted the claim by hand. */
export function isClaimOf({ metadata }: Pick<Service, 'metadata'>, { key, value }: Entry): boolean {
  const parsed = JSON.parse(value) as Parent; // written by the two functions above or as an IPAddress
  const parent = key.startsWith(addressPrefix) ? parsed.spec?.parentRef : parsed;
  return parent?.namespace === metadata.namespace && parent?.name === metadata.name;
}
