import { failure, internalError, invalid } from '../../api/errors.ts';
import { invalidValue } from '../../api/field-errors.ts';
import { getsNodePorts, mayUseNodePorts, needsHealthCheck } from '../../api/kinds/core/service/normalize.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import type { PortOperation, ErrorBuilder } from './operation.ts';
import { getOrCompute } from '../../api/maps.ts';

/** Returns the new Service with its node ports, and with its health check port if it needs one. */
export function allocateNodePorts(service: Service, operation: PortOperation): Service {
  if (!mayUseNodePorts(service)) return service;
  const withPorts = withChosenPorts(service, operation);
  return needsHealthCheck(service) ? withHealthCheckPort(withPorts, operation) : withPorts;
}

/** Returns the updated Service with added node ports, and releases removed ones. */
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

/** Releases all node ports of a deleted Service. */
export function releaseNodePorts(service: Service, operation: PortOperation): void {
  for (const port of nodePortsOf(service)) operation.releasePort(port);
  if (needsHealthCheck(service)) releaseHealthCheckPort(service, operation);
}

/** The node ports that a Service holds. Those of a type without node ports were never allocated. */
function nodePortsOf(service: Service): ReadonlySet<number> {
  const held = new Set<number>();
  if (!mayUseNodePorts(service)) return held;
  for (const { nodePort = 0 } of service.spec.ports ?? []) if (nodePort !== 0) held.add(nodePort);
  return held;
}

/** On create, ports with the same number and different protocols share a node port unless they request others. */
function withChosenPorts(service: Service, operation: PortOperation): Service {
  const { ports } = service.spec;
  if (ports === undefined) return service;
  const allocates = getsNodePorts(service);
  const requested = new Map<number, number>(); // port → the first node port requested for it
  for (const { port, nodePort = 0 } of ports) if (nodePort !== 0) getOrCompute(requested, port, () => nodePort);
  const byPort = new Map<number, number>(); // port → node port
  const chosen = ports.map((port, index): ServicePort => {
    const { nodePort = 0 } = port;
    if (nodePort === 0 && !allocates) return port;
    const shared = byPort.get(port.port);
    if (shared === undefined) {
      const requestedPort = requested.get(port.port);
      if (requestedPort !== undefined) operation.allocatePort(requestedPort, wording(service, index, requestedPort));
      const given = requestedPort ?? takeNodePort(operation);
      byPort.set(port.port, given);
      return { ...port, nodePort: given };
    }
    if (nodePort === 0) return { ...port, nodePort: shared };
    if (nodePort !== shared) operation.allocatePort(nodePort, wording(service, index, nodePort));
    return port;
  });
  return { ...service, spec: { ...service.spec, ports: chosen } };
}

/** On update, only node ports that are new to the Service are allocated, each once. */
function withUpdatedPorts(service: Service, held: ReadonlySet<number>, operation: PortOperation): Service {
  const { ports } = service.spec;
  if (ports === undefined) return service;
  const allocates = getsNodePorts(service);
  const claimed = new Set<number>();
  const seen = new Set<string>(); // protocol and node port
  const updated = ports.map((port, index): ServicePort => {
    const { nodePort: requestedPort = 0, protocol = 'TCP' } = port;
    if (requestedPort === 0 && !allocates) return port;
    if (requestedPort !== 0 && !held.has(requestedPort) && !claimed.has(requestedPort)) {
      operation.allocatePort(requestedPort, wording(service, index, requestedPort));
      claimed.add(requestedPort);
    }
    const nodePort = requestedPort === 0 ? takeNodePort(operation) : requestedPort;
    const pair = `${protocol} ${nodePort}`;
    // Kubernetes returns an error without reason and details here.
    if (seen.has(pair)) throw failure({ code: 500, message: `duplicate nodePort: {${pair}}` });
    seen.add(pair);
    return requestedPort === 0 ? { ...port, nodePort } : port;
  });
  return { ...service, spec: { ...service.spec, ports: updated } };
}

function withHealthCheckPort(service: Service, operation: PortOperation): Service {
  const requestedPort = service.spec.healthCheckNodePort ?? 0;
  if (requestedPort !== 0) {
    operation.allocatePort(requestedPort, (problem) =>
      internalError(`failed to allocate requested HealthCheck NodePort ${requestedPort}: ${problem}`),
    );
    return service;
  }
  const healthCheckNodePort = operation.allocateNextPort();
  if (healthCheckNodePort === undefined) {
    throw internalError('failed to allocate a HealthCheck NodePort 0: range is full');
  }
  return { ...service, spec: { ...service.spec, healthCheckNodePort } };
}

function releaseHealthCheckPort({ spec }: Service, operation: PortOperation): void {
  if ((spec.healthCheckNodePort ?? 0) !== 0) operation.releasePort(spec.healthCheckNodePort ?? 0);
}

function takeNodePort(operation: PortOperation): number {
  const port = operation.allocateNextPort();
  if (port === undefined) throw internalError('failed to allocate a nodePort: range is full');
  return port;
}

const wording =
  ({ metadata }: Service, index: number, port: number): ErrorBuilder =>
  (problem) =>
    invalid({ group: '', resource: 'Service', name: metadata.name ?? '' }, [
      invalidValue(`spec.ports[${index}].nodePort`, port, problem),
    ]);
