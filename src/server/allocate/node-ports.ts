import { failure, internalError, invalid } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import { getsNodePorts, mayUseNodePorts, needsHealthCheck } from '../../api/kinds/core/service/linked.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { PortOperation, Wording } from './operation.ts';

/** The new Service with its node ports, and with its health check port if it needs one. */
export function allocateNodePorts(service: Service, operation: PortOperation): Service {
  if (!mayUseNodePorts(service)) return service;
  const withPorts = withChosenPorts(service, operation);
  return needsHealthCheck(service) ? withHealthCheckPort(withPorts, operation) : withPorts;
}

/** The changed Service with the node ports it gains; those it loses are released. */
export function updateNodePorts(service: Service, old: Service, operation: PortOperation): Service {
  const held = nodePortsOf(old);
  const updated = mayUseNodePorts(service) ? withUpdatedPorts(service, held, operation) : service;
  const kept = nodePortsOf(updated);
  for (const port of held) if (!kept.has(port)) operation.releasePort(port);

  const needed = needsHealthCheck(old);
  const needs = needsHealthCheck(service);
  if (needed && !needs) releaseHealthCheckPort(old, operation);
  return needs && !needed ? withHealthCheckPort(updated, operation) : updated;
}

/** Gives up all node ports of a Service that is going. */
export function releaseNodePorts(service: Service, operation: PortOperation): void {
  for (const port of nodePortsOf(service)) operation.releasePort(port);
  if (needsHealthCheck(service)) releaseHealthCheckPort(service, operation);
}

/** The node ports a Service holds: numbers in a Service of another type were never given to it. */
function nodePortsOf(service: Service): ReadonlySet<number> {
  const held = new Set<number>();
  if (!mayUseNodePorts(service)) return held;
  for (const { nodePort = 0 } of service.spec.ports ?? []) if (nodePort !== 0) held.add(nodePort);
  return held;
}

/** On create, ports with the same number (of different protocols) share a node port where they do not ask otherwise. */
function withChosenPorts(service: Service, operation: PortOperation): Service {
  const { ports } = service.spec;
  if (ports === undefined) return service;
  const allocates = getsNodePorts(service);
  const askedFor = new Map<number, number>(); // port → the first node port that is asked for it
  for (const { port, nodePort = 0 } of ports) if (nodePort !== 0) askedFor.getOrInsert(port, nodePort);
  const byPort = new Map<number, number>(); // port → node port
  const chosen = ports.map((port, index): ServicePort => {
    const { nodePort = 0 } = port;
    if (nodePort === 0 && !allocates) return port;
    const shared = byPort.get(port.port);
    if (shared === undefined) {
      const asked = askedFor.get(port.port);
      if (asked !== undefined) operation.claimPort(asked, wording(service, index, asked));
      const given = asked ?? takeNodePort(operation);
      byPort.set(port.port, given);
      return { ...port, nodePort: given };
    }
    if (nodePort === 0) return { ...port, nodePort: shared };
    if (nodePort !== shared) operation.claimPort(nodePort, wording(service, index, nodePort));
    return port;
  });
  return { ...service, spec: { ...service.spec, ports: chosen } };
}

/** On update every port is looked at alone: only a number that is new to the Service is claimed, and only once. */
function withUpdatedPorts(service: Service, held: ReadonlySet<number>, operation: PortOperation): Service {
  const { ports } = service.spec;
  if (ports === undefined) return service;
  const allocates = getsNodePorts(service);
  const claimed = new Set<number>();
  const seen = new Set<string>(); // protocol and node port
  const updated = ports.map((port, index): ServicePort => {
    const { nodePort: asked = 0, protocol = 'TCP' } = port;
    if (asked === 0 && !allocates) return port;
    if (asked !== 0 && !held.has(asked) && !claimed.has(asked)) {
      operation.claimPort(asked, wording(service, index, asked));
      claimed.add(asked);
    }
    const nodePort = asked === 0 ? takeNodePort(operation) : asked;
    const pair = `${protocol} ${nodePort}`;
    // Kubernetes answers with a bare error here, which has neither reason nor details.
    if (seen.has(pair)) throw failure({ code: 500, message: `duplicate nodePort: {${pair}}` });
    seen.add(pair);
    return asked === 0 ? { ...port, nodePort } : port;
  });
  return { ...service, spec: { ...service.spec, ports: updated } };
}

function withHealthCheckPort(service: Service, operation: PortOperation): Service {
  const asked = service.spec.healthCheckNodePort ?? 0;
  if (asked !== 0) {
    operation.claimPort(asked, (problem) =>
      internalError(`failed to allocate requested HealthCheck NodePort ${asked}: ${problem}`),
    );
    return service;
  }
  const healthCheckNodePort = operation.takePort();
  if (healthCheckNodePort === undefined) {
    throw internalError('failed to allocate a HealthCheck NodePort 0: range is full');
  }
  return { ...service, spec: { ...service.spec, healthCheckNodePort } };
}

function releaseHealthCheckPort({ spec }: Service, operation: PortOperation): void {
  if ((spec.healthCheckNodePort ?? 0) !== 0) operation.releasePort(spec.healthCheckNodePort ?? 0);
}

function takeNodePort(operation: PortOperation): number {
  const port = operation.takePort();
  if (port === undefined) throw internalError('failed to allocate a nodePort: range is full');
  return port;
}

const wording =
  ({ metadata }: Service, index: number, port: number): Wording =>
  (problem) =>
    invalid({ group: '', resource: 'Service', name: metadata.name ?? '' }, [
      invalidValue(`spec.ports[${index}].nodePort`, port, problem),
    ]);
