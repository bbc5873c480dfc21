// Which ports of a Pod stand behind the ports of a Service.
import type { Gates } from '../api/gates.ts';
import type { Container, Pod } from '../api/kinds/core/pod/schema.ts';
import type { Protocol, Service, ServicePort } from '../api/kinds/core/service/schema.ts';

/** A port of a Service as a Pod serves it. */
export interface TargetPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string;
  readonly srvServiceName?: string;
}

/** Pods that serve the ports of a Service under the same numbers. */
export interface PortGroup {
  readonly ports: readonly TargetPort[];
  readonly pods: readonly Pod[];
}

/**
 * The Pods by the ports they serve. A port that a Pod does not have is missing for that Pod alone; a Pod that has none
 * of them still makes a group.
 */
export function portGroups(service: Service, pods: readonly Pod[], gates: Gates): readonly PortGroup[] {
  const servicePorts = service.spec.ports ?? [];
  const copiesSrvName = gates.enabled('SRVServiceName');
  // Numbers are the same on every Pod, so that there is nothing to look up.
  if (!servicePorts.some(isNamed)) {
    const ports = servicePorts.map((port) => targetPort(port, fixedNumber(port), copiesSrvName));
    return pods.length === 0 ? [] : [{ ports, pods }];
  }
  const groups = new Map<string, { readonly ports: readonly TargetPort[]; readonly pods: Pod[] }>();
  for (const pod of pods) {
    const numbers = servicePorts.map((port) => numberOn(pod, port));
    const key = numbers.join();
    const group = groups.get(key);
    if (group !== undefined) group.pods.push(pod);
    else groups.set(key, { ports: resolved(servicePorts, numbers, copiesSrvName), pods: [pod] });
  }
  // Sorted, so that what is planned does not depend on the order of a cache.
  return [...groups].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, group]) => group);
}

function resolved(
  servicePorts: readonly ServicePort[],
  numbers: readonly (number | undefined)[],
  copiesSrvName: boolean,
): readonly TargetPort[] {
  return servicePorts.flatMap((port, index) => {
    const number = numbers[index];
    return number === undefined ? [] : [targetPort(port, number, copiesSrvName)];
  });
}

const isNamed = ({ targetPort: target }: ServicePort): boolean => typeof target === 'string' && target !== '';

/** The server fills targetPort in; objects from elsewhere may still leave it out. */
const fixedNumber = ({ port, targetPort: target }: ServicePort): number =>
  typeof target === 'number' && target !== 0 ? target : port;

/** SRV-5: the field travels while the gate is on. */
const targetPort = (
  { name = '', protocol = 'TCP', appProtocol, srvServiceName }: ServicePort,
  port: number,
  copiesSrvName: boolean,
): TargetPort => ({
  name,
  protocol,
  port,
  ...(appProtocol === undefined ? {} : { appProtocol }),
  ...(srvServiceName === undefined || !copiesSrvName ? {} : { srvServiceName }),
});

function numberOn({ spec }: Pod, port: ServicePort): number | undefined {
  if (!isNamed(port)) return fixedNumber(port);
  for (const container of spec.containers ?? []) {
    const number = namedPort(container, port);
    if (number !== undefined) return number;
  }
  for (const container of spec.initContainers ?? []) {
    // Only a sidecar still runs when the Pod serves.
    const number = container.restartPolicy === 'Always' ? namedPort(container, port) : undefined;
    if (number !== undefined) return number;
  }
  return undefined;
}

/** A name is matched together with the protocol: a UDP port of that name is not what a TCP port asks for. */
function namedPort(container: Container, { targetPort: target, protocol = 'TCP' }: ServicePort): number | undefined {
  for (const { name, containerPort, protocol: has = 'TCP' } of container.ports ?? []) {
    if (name === target && has === protocol) return containerPort;
  }
  return undefined;
}

type MaybeNamed = Pick<TargetPort, 'srvServiceName'>;

/**
 * Whether the server left `srvServiceName` out of ports it was sent: its gate is off. A loop that sees it plans with
 * {@link withoutSrvName} until the Service changes, or it would send the field for ever.
 */
export const dropsSrvName = (sent: readonly MaybeNamed[], kept: readonly MaybeNamed[]): boolean =>
  hasSrvName(sent) && !hasSrvName(kept);

/** Whether any of the ports has a `srvServiceName`. */
export const hasSrvName = (ports: readonly MaybeNamed[]): boolean =>
  ports.some(({ srvServiceName }) => srvServiceName !== undefined);

/** The same gates, but for SRVServiceName, which is off. */
export const withoutSrvName = (gates: Gates): Gates => ({
  enabled: (name) => name !== 'SRVServiceName' && gates.enabled(name),
});
