// A claim is a key of its own: whoever creates it has the address or the port, on however many servers.
import type { Entry } from '../../store/store.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';

/** Where the IPAddress objects are kept, each under its canonical address. */
export const addressPrefix = '/registry/networking.k8s.io/ipaddresses/';

/** Where the node ports are kept, each under its number. */
export const portPrefix = '/registry/nodeports/';

/** What a claim on an address needs beside the Service. */
export interface AddressClaim {
  readonly ip: string;
  readonly family: IpFamily;
  readonly uid: string;
  /** RFC 3339, whole seconds. */
  readonly now: string;
}

/** The IPAddress object that gives `ip` to a Service, as it is stored. */
export function addressClaim({ metadata }: Service, { ip, family, uid, now }: AddressClaim): string {
  // Assembled by hand: this is on the path of every create, and only the two names of the Service need care.
  return (
    `{"kind":"IPAddress","apiVersion":"networking.k8s.io/v1","metadata":{"name":"${ip}","uid":"${uid}",` +
    `"creationTimestamp":"${now}","labels":{"ipaddress.kubernetes.io/ip-family":"${family}",` +
    `"ipaddress.kubernetes.io/managed-by":"ipallocator.k8s.io"}},"spec":{"parentRef":{"resource":"services",` +
    `"namespace":${JSON.stringify(metadata.namespace ?? '')},"name":${JSON.stringify(metadata.name ?? '')}}}}`
  );
}

/** The claim that gives a node port to a Service. */
export const portClaim = ({ metadata }: Service): string =>
  JSON.stringify({ namespace: metadata.namespace ?? '', name: metadata.name ?? '' });

interface Parent {
  readonly namespace?: string;
  readonly name?: string;
  readonly spec?: { readonly parentRef?: Parent & { readonly resource?: string } };
}

/** Whether a claim is one of this Service: somebody else may have got it after it was deleted by hand. */
export function isClaimOf({ metadata }: Pick<Service, 'metadata'>, { key, value }: Entry): boolean {
  const parsed = JSON.parse(value) as Parent; // what the two functions above or the IPAddress kind have written
  const parent = key.startsWith(addressPrefix) ? parsed.spec?.parentRef : parsed;
  return parent?.namespace === metadata.namespace && parent?.name === metadata.name;
}
