// The properties of a Pod as a backend of a Service: selection, addresses, readiness.
import { isExternalName } from '../api/kinds/core/service/facts.ts';
import { parseAddress, printAddress } from '../api/addresses.ts';
import type { ObjectReference } from '../api/kinds/core/references.ts';
import type { Pod } from '../api/kinds/core/pod/schema.ts';
import type { IpFamily, Service } from '../api/kinds/core/service/schema.ts';

/**
 * Whether controllers manage the endpoints of a Service. Without a selector its user does, and an ExternalName Service has
 * none, even with a selector (EXT-2).
 */
export const hasManagedEndpoints = (service: Service): boolean =>
  !isExternalName(service) && service.spec.selector !== undefined;

/** The selected Pods that can have endpoints: not finished, and with an address. */
export function selectedPods(service: Service, pods: readonly Pod[]): readonly Pod[] {
  const wanted = Object.entries(service.spec.selector ?? {});
  const { namespace } = service.metadata;
  return pods.filter(({ metadata, status }) => {
    if (metadata.namespace !== namespace || status.phase === 'Succeeded' || status.phase === 'Failed') return false;
    if (!status.podIP && !status.podIPs?.length) return false;
    for (const [key, value] of wanted) if (metadata.labels?.[key] !== value) return false;
    return true;
  });
}

/** Whether the Ready condition of the Pod is true. */
export function isReady({ status }: Pod): boolean {
  for (const { type, status: value } of status.conditions ?? []) if (type === 'Ready') return value === 'True';
  return false;
}

export const isTerminating = ({ metadata }: Pod): boolean => metadata.deletionTimestamp !== undefined;

/** The hostname that a headless Service publishes for the Pod; '' if there is none. */
export const hostnameIn = ({ spec }: Pod, service: Service): string =>
  spec.hostname && spec.subdomain === service.metadata.name ? spec.hostname : '';

/** A reference without the revision, so that status updates of the Pod do not change it. */
export const referenceTo = ({ metadata: { namespace = '', name = '', uid = '' } }: Pod): ObjectReference => ({
  kind: 'Pod',
  namespace,
  name,
  uid,
});

/** The addresses of the Pod in one family, in canonical form. */
export function addressesOf({ status }: Pod, family: IpFamily): readonly string[] {
  const found: string[] = [];
  if (!status.podIPs?.length) addIfOf(family, status.podIP ?? '', found);
  else for (const { ip } of status.podIPs) addIfOf(family, ip ?? '', found);
  return found;
}

// Fast path for canonical IPv4 addresses: 0.05 µs instead of 0.5 µs for parsing.
const canonicalIpv4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

function addIfOf(family: IpFamily, text: string, found: string[]): void {
  if (canonicalIpv4.test(text)) {
    if (family === 'IPv4') found.push(text);
    return;
  }
  const address = parseAddress(text);
  if (address?.family === family) found.push(printAddress(family, address.value));
}
