// Evaluates each port of a Service for a product. Either all ports are served or none.
import type { Cloud, Port, Request } from './cloud.ts';
import type { Fault } from './fault.ts';
import { fault } from './fault.ts';
import type { OpenPort } from './resource.ts';
import { portText } from './resource.ts';

/** A port, with a fault if it is not served. */
export interface PortOutcome extends OpenPort {
  readonly fault?: Fault;
}

/** Whether the ports have more than one protocol. */
export const isMixed = (ports: readonly OpenPort[]): boolean => new Set(ports.map(({ protocol }) => protocol)).size > 1;

/**
 * With the gate off, existing load balancers with several protocols continue and can be changed, but new ones are refused,
 * even if the API server accepts the Service (LB-8, LB-23).
 */
export function gateFault(
  isMixingAllowed: boolean,
  ports: readonly OpenPort[],
  open: readonly OpenPort[],
): Fault | undefined {
  if (isMixingAllowed || !isMixed(ports) || isMixed(open)) return undefined;
  const message =
    'several protocols on one load balancer require the feature gate MixedProtocolLBService, which is off';
  return { code: 'MixedProtocolNotSupported', message };
}

/** One outcome per port, in the order of the manifest. If one port cannot be served, none is (LB-5). */
export function evaluatePorts(cloud: Cloud, request: Request, gateFault: Fault | undefined): readonly PortOutcome[] {
  const { ports } = request;
  const whole = gateFault ?? mixingFault(cloud, request) ?? tcpFault(cloud, request) ?? cloud.check?.(request);
  const own = ports.map((port) => protocolFault(cloud, port, request) ?? whole ?? portFault(cloud, port, request));
  const first = own.findIndex((each) => each !== undefined);
  const failing = ports[first];
  return ports.map((port, index): PortOutcome => {
    const { protocol, port: number } = port;
    if (failing === undefined) return { port: number, protocol };
    const because = `no port is served because port ${portText(failing)} cannot be served`;
    return { port: number, protocol, fault: own[index] ?? fault('fairlead.dev/OtherPortRefused', because) };
  });
}

/** The protocols that a product supports for this Service. */
const supportedBy = (cloud: Cloud, request: Request): Request['product']['l4'] =>
  request.product.l4.filter((protocol) => cloud.supports?.(protocol, request) ?? true);

function protocolFault(cloud: Cloud, { protocol }: Port, request: Request): Fault | undefined {
  const supported = supportedBy(cloud, request);
  if (supported.includes(protocol)) return undefined;
  const message = `${nameOf(cloud, request)} supports only ${supported.join(' and ')}, not ${protocol}`;
  return fault('fairlead.dev/UnsupportedProtocol', message);
}

function mixingFault(cloud: Cloud, request: Request): Fault | undefined {
  const { ports, product } = request;
  if (!isMixed(ports) || product.mixed !== 'none') return undefined;
  const protocols = [...new Set(ports.map(({ protocol }) => protocol))].join(' and ');
  // One Service per protocol does not help if one of the protocols is not supported at all.
  const supported = supportedBy(cloud, request);
  const advice = ports.every(({ protocol }) => supported.includes(protocol))
    ? 'create one Service per protocol'
    : `it supports only ${supported.join(' and ')}, use another kind for the rest`;
  const message = `${nameOf(cloud, request)} does not support ${protocols} on one load balancer: ${advice}`;
  return { code: 'MixedProtocolNotSupported', message };
}

function tcpFault(cloud: Cloud, request: Request): Fault | undefined {
  const { ports, product } = request;
  if (product.needsTcp === undefined || ports.some(({ protocol }) => protocol === 'TCP')) return undefined;
  const message = `${nameOf(cloud, request)} checks health over TCP: add a TCP port`;
  return fault('fairlead.dev/NoHealthCheckPort', message);
}

function portFault(cloud: Cloud, port: Port, request: Request): Fault | undefined {
  return nodePortFault(cloud, port, request) ?? samePortFault(cloud, port, request) ?? l7Fault(cloud, port, request);
}

/** A manifest that has not been applied has no node ports yet. */
function nodePortFault(cloud: Cloud, { nodePort = 0 }: Port, request: Request): Fault | undefined {
  const isDisabled = request.service.spec.allocateLoadBalancerNodePorts === false && nodePort === 0;
  if (request.product.needsNodePorts === undefined || !isDisabled) return undefined;
  const message = `${nameOf(cloud, request)} sends traffic to node ports: set allocateLoadBalancerNodePorts to true`;
  return fault('fairlead.dev/NodePortRequired', message);
}

function samePortFault(cloud: Cloud, port: Port, request: Request): Fault | undefined {
  const { ports, product, service } = request;
  const twins = ports.filter((other) => other.port === port.port);
  if (twins.length < 2) return undefined;
  const what = `${twins.map(({ protocol }) => protocol).join(' and ')} on port ${port.port}`;
  if (product.mixed !== 'samePort') {
    const message = `${nameOf(cloud, request)} does not support ${what}: use different numbers, or one Service per protocol`;
    return fault('fairlead.dev/SamePortNotSupported', message);
  }
  const optIn = product.samePortOptIn;
  if (optIn !== undefined && service.metadata.annotations?.[optIn] !== 'true') {
    const message = `${nameOf(cloud, request)} supports ${what} only if the Service has the annotation ${optIn}: "true"`;
    return fault('fairlead.dev/SamePortOptInRequired', message);
  }
  // A listener for both protocols has a single target port.
  const nodePorts = new Set(twins.flatMap(({ nodePort }) => nodePort || []));
  if (product.form !== 'merged' || nodePorts.size < 2) return undefined;
  const message = `${what} is one listener of ${nameOf(cloud, request)} and needs one node port for both, not ${[...nodePorts].join(' and ')}`;
  return fault('fairlead.dev/NodePortMismatch', message);
}

function l7Fault(cloud: Cloud, port: Port, request: Request): Fault | undefined {
  const desired = request.l7.get(port.port);
  if (desired === undefined) return undefined;
  const hasTcp = request.ports.some((other) => other.port === port.port && other.protocol === 'TCP');
  if (port.protocol !== 'TCP' && hasTcp) return undefined; // it applies to the TCP port of the same number
  const code = 'fairlead.dev/UnsupportedAppProtocol';
  if (port.protocol !== 'TCP') return fault(code, `${desired} requires a TCP port, but port ${portText(port)} is not`);
  if (request.product.l7.includes(desired)) return undefined;
  const known = request.product.l7.join(', ') || 'none';
  return fault(
    code,
    `${nameOf(cloud, request)} does not support ${desired}; supported application protocols: ${known}`,
  );
}

/** The name of a product in messages. */
export const nameOf = ({ title }: Cloud, { product }: Pick<Request, 'product'>): string => `${title} ${product.title}`;
