import type { Service } from '../../api/kinds/core/service/schema.ts';
import { dnsLabelErrors } from '../../api/names.ts';

/**
 * The equivalent of `srvServiceName` on objects without that field: Services of a Kubernetes API server, and imports.
 * Port names and their SRV labels, as in `kerberos-tcp=kerberos,kerberos-udp=kerberos` (MCS-161).
 */
export const srvNamesAnnotation = 'fairlead.dev/srv-service-names';

/** The SRV labels in the annotation of a Service: port name → label. Invalid entries are ignored. */
export function srvLabels({ metadata: { annotations } }: Service): ReadonlyMap<string, string> {
  const pairs = (annotations?.[srvNamesAnnotation] ?? '').split(',').map((pair) => pair.split('='));
  return new Map(
    pairs.flatMap(([port = '', label = '', ...rest]) =>
      port.trim() === '' || rest.length > 0 || dnsLabelErrors(label.trim()).length > 0
        ? []
        : [[port.trim(), label.trim()] as const],
    ),
  );
}
