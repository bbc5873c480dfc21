// Resolves the ports of a Service to ports of its Pods.
import type { Gates } from '../api/gates.ts';
import type { Container, Pod } from '../api/kinds/core/pod/schema.ts';
import type { Protocol, Service, ServicePort } from '../api/kinds/core/service/schema.ts';
import type { ApiObject } from '../api/metadata.ts';
import { byKey } from '../api/order.ts';
import type { Key } from '../client/key.ts';

/** A port of a Service, resolved for a Pod. */
export interface TargetPort {
  readonly name: string;
  readonly protocol: Protocol;
  readonly port: number;
  readonly appProtocol?: string;
  readonly srvServiceName?: string;
}

/** Pods on which the ports of a Service have the same numbers. */
export interface PortGroup {
  readonly ports: readonly TargetPort[];
  readonly pods: readonly Pod[];
}

/**
 * Groups Pods by the port numbers they serve. A named port that a Pod lacks is omitted for that Pod only; a Pod without any
 * of the ports still belongs to a group.
 */
export function portGroups(service: Service, pods: readonly Pod[], gates: Gates): readonly PortGroup[] {
  const servicePorts = service.spec.ports ?? [];
  const copiesSrvName = gates.enabled('SRVServiceName');
  // Numeric target ports are the same on every Pod.
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
  // Sorted, so that plans do not depend on the order of a cache.
  return [...groups].sort(byKey).map(([, group]) => group);
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

/** The server defaults targetPort, but it may be missing in objects from other sources. */
const fixedNumber = ({ port, targetPort: target }: ServicePort): number =>
  typeof target === 'number' && target !== 0 ? target : port;

/** SRV-5: `srvServiceName` is copied while the gate is on. */
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
    // Of the init containers only sidecars run while the Pod is ready.
    const number = container.restartPolicy === 'Always' ? namedPort(container, port) : undefined;
    if (number !== undefined) return number;
  }
  return undefined;
}

/** The number of a named port with the same protocol. */
function namedPort(container: Container, { targetPort: target, protocol = 'TCP' }: ServicePort): number | undefined {
  for (const { name, containerPort, protocol: has = 'TCP' } of container.ports ?? []) {
    if (name === target && has === protocol) return containerPort;
  }
  return undefined;
}

type MaybeNamed = Pick<TargetPort, 'srvServiceName'>;

/**
 * Whether the server dropped `srvServiceName`, because its gate is off. The controller then plans with
 * {@link gatesWithoutSrvName} until the Service changes; otherwise every plan would contain an update.
 */
export const dropsSrvName = (sent: readonly MaybeNamed[], kept: readonly MaybeNamed[]): boolean =>
  hasSrvName(sent) && !hasSrvName(kept);

/** Whether any of the ports has a `srvServiceName`. */
export const hasSrvName = (ports: readonly MaybeNamed[]): boolean =>
  ports.some(({ srvServiceName }) => srvServiceName !== undefined);

/** The gates with SRVServiceName off. */
export const gatesWithoutSrvName = (gates: Gates): Gates => ({
  enabled: (name) => name !== 'SRVServiceName' && gates.enabled(name),
});

/** Objects whose `srvServiceName` the server dropped. Plans leave it out until the object changes. */
export class DroppedSrvNames {
  /** Object → its revision when the server dropped the field. */
  readonly #revisions = new Map<Key, string | undefined>();

  add(key: Key, object: ApiObject | undefined): void {
    this.#revisions.set(key, object?.metadata.resourceVersion);
  }

  has(key: Key, object: ApiObject | undefined): boolean {
    return this.#revisions.has(key) && this.#revisions.get(key) === object?.metadata.resourceVersion;
  }

  delete(key: Key): void {
    this.#revisions.delete(key);
  }
}
