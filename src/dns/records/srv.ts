// SRV records of ports.
import { protocolOf } from '../../api/kinds/core/service/facts.ts';
import type { Protocol } from '../../api/kinds/core/service/schema.ts';
import type { SrvLabels } from '../../api/kinds/core/service/srv-names.ts';
import { annotatedLabels } from '../../api/kinds/core/service/srv-names.ts';
import type { Name, RecordData, RecordSet } from '../../dnswire/data.ts';
import { fits } from './options.ts';

/** A port of a Service, of a slice or of an import. */
export interface NamedPort {
  readonly name?: string;
  readonly protocol?: Protocol;
  /** Undefined in a slice without a port number. */
  readonly port?: number;
  readonly srvServiceName?: string;
}

/** The labels of the ports of a Service or an import: the field, or else the annotation. */
export function labelsOfPorts(
  ports: readonly NamedPort[],
  annotations: Readonly<Record<string, string>> | undefined,
): SrvLabels {
  const fields = ports.flatMap(({ name = '', srvServiceName }) =>
    srvServiceName ? [[name, srvServiceName] as const] : [],
  );
  const annotated = annotatedLabels(annotations);
  if (fields.length === 0) return annotated;
  return new Map([...annotated, ...fields]);
}

/** The label of a port's SRV records (KEP-3241): that of its service, else its own field, else its name; '': none. */
function srvLabel({ name = '', srvServiceName }: NamedPort, labels: SrvLabels | undefined): string {
  // The gate is off: the field is ignored (SRV-9).
  if (labels === undefined) return name;
  return labels.get(name) ?? (srvServiceName || name);
}

/** An SRV record. All targets have the same priority and weight. */
export const srvRecord = (port: number, target: Name): RecordData => ({
  type: 'SRV',
  priority: 0,
  weight: 100,
  port,
  target,
});

/** A port with the data of its SRV records. */
export interface PortTargets {
  readonly port: NamedPort;
  readonly data: readonly RecordData[];
}

/**
 * The SRV records of a service: for each port with a label at `_label._protocol.<service>`, and for each named port at the
 * service itself, which peer finders query. `labels` is undefined if `srvServiceName` is ignored.
 */
export function srvSets(
  owner: Name,
  ttl: number,
  { ports, labels }: { readonly ports: readonly PortTargets[]; readonly labels: SrvLabels | undefined },
): readonly RecordSet[] {
  /** Owner → records. */
  const sets = new Map<Name, RecordData[]>();
  const add = (name: Name, data: readonly RecordData[]): void => {
    const previous = sets.get(name);
    if (previous === undefined) sets.set(name, [...data]);
    else previous.push(...data);
  };
  for (const { port, data } of ports) {
    if (data.length === 0) continue;
    const label = srvLabel(port, labels);
    const name = `_${label}._${protocolOf(port).toLowerCase()}.${owner}`;
    if (label !== '' && fits(name)) add(name, data);
    if (port.name) add(owner, data);
  }
  return [...sets].map(([name, data]) => ({ owner: name, type: 'SRV', ttl, data }));
}
