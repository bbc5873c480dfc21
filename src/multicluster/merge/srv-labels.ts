import type { Service } from '../../api/kinds/core/service/schema.ts';
import { dnsLabelErrors } from '../../api/names.ts';

/**
 * An annotation that does what `srvServiceName` does on objects that have no such field: Services of a real Kubernetes,
 * and imports. Names of ports and their labels, as in `kerberos-tcp=kerberos,kerberos-udp=kerberos` (MCS-161).
 */
export const srvNamesAnnotation = 'fairlead.dev/srv-service-names';

/** The SRV labels that a Service gives to its ports by annotation: port name → label. What is no label is left out. */
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
