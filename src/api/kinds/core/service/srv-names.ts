// The labels of SRV records (KEP-3241) on objects without the field `srvServiceName`.
import { dnsLabelErrors } from '../../../names.ts';

/**
 * The equivalent of `srvServiceName` on Services of API servers without the field, and on imports (SRV-13, MCS-161): names
 * of ports and their labels, as in `kerberos-tcp=kerberos,kerberos-udp=kerberos`.
 */
export const srvNamesAnnotation = 'fairlead.dev/srv-service-names';

/** Port name → label. */
export type SrvLabels = ReadonlyMap<string, string>;

const noLabels: SrvLabels = new Map();

/** The labels of ports in the annotation. Malformed elements and invalid labels are ignored. */
export function annotatedLabels(annotations: Readonly<Record<string, string>> | undefined): SrvLabels {
  const text = annotations?.[srvNamesAnnotation];
  if (text === undefined) return noLabels;
  const pairs = text.split(',').map((pair) => pair.split('=').map((part) => part.trim()));
  return new Map(
    pairs.flatMap(([port = '', label = '', ...rest]) =>
      port === '' || rest.length > 0 || dnsLabelErrors(label).length > 0 ? [] : [[port, label] as const],
    ),
  );
}
