// What becomes of each port of a Service at a product. All are served, or none is.
import type { Cloud, Port, Request } from './cloud.ts';
import type { Fault } from './fault.ts';
import { fault } from './fault.ts';
import type { OpenPort } from './resource.ts';
import { portText } from './resource.ts';

/** A port, and why it is not served if it is not. */
export interface PortOutcome extends OpenPort {
  readonly fault?: Fault;
}

/** Whether a Service asks for more than one protocol. */
export const isMixed = (ports: readonly OpenPort[]): boolean => new Set(ports.map(({ protocol }) => protocol)).size > 1;

/**
 * With the gate off a load balancer that mixes already goes on and can be changed, and a new one does not begin, even
 * where the API server lets it through (LB-8, LB-23).
 */
export function gateFault(
  isMixingAllowed: boolean,
  ports: readonly OpenPort[],
  open: readonly OpenPort[],
): Fault | undefined {
  if (isMixingAllowed || !isMixed(ports) || isMixed(open)) return undefined;
  const message = 'several protocols on one load balancer need the feature gate MixedProtocolLBService, which is off';
  return { code: 'MixedProtocolNotSupported', message };
}

/** One outcome a port, in the order of the manifest. One port that cannot be served refuses the others too (LB-5). */
export function evaluatePorts(cloud: Cloud, request: Request, gateFault: Fault | undefined): readonly PortOutcome[] {
  const { ports } = request;
  const whole = gateFault ?? mixingFault(cloud, request) ?? tcpFault(cloud, request) ?? cloud.check?.(request);
  const own = ports.map((port) => protocolFault(cloud, port, request) ?? whole ?? portFault(cloud, port, request));
  const first = own.findIndex((each) => each !== undefined);
  const culprit = ports[first];
  return ports.map((port, index): PortOutcome => {
    const { protocol, port: number } = port;
    if (culprit === undefined) return { port: number, protocol };
    const because = `nothing is set up because port ${portText(culprit)} cannot be`;
    return { port: number, protocol, fault: own[index] ?? fault('fairlead.dev/OtherPortRefused', because) };
  });
}

/** The protocols that a product takes for this Service. */
const takenBy = (cloud: Cloud, request: Request): Request['product']['l4'] =>
  request.product.l4.filter((protocol) => cloud.supports?.(protocol, request) ?? true);

function protocolFault(cloud: Cloud, { protocol }: Port, request: Request): Fault | undefined {
  const taken = takenBy(cloud, request);
  if (taken.includes(protocol)) return undefined;
  const message = `${nameOf(cloud, request)} takes ${taken.join(' and ')} only, not ${protocol}`;
  return fault('fairlead.dev/UnsupportedProtocol', message);
}

function mixingFault(cloud: Cloud, request: Request): Fault | undefined {
  const { ports, product } = request;
  if (!isMixed(ports) || product.mixed !== 'none') return undefined;
  const protocols = [...new Set(ports.map(({ protocol }) => protocol))].join(' and ');
  // One Service for each would not help where one of them is not taken at all.
  const taken = takenBy(cloud, request);
  const advice = ports.every(({ protocol }) => taken.includes(protocol))
    ? 'make one Service for each protocol'
    : `it takes ${taken.join(' and ')} only, so use another kind for the rest`;
  const message = `${nameOf(cloud, request)} cannot have ${protocols} on one load balancer: ${advice}`;
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

/** A manifest that was not applied yet has no node ports, and gets them unless it says otherwise. */
function nodePortFault(cloud: Cloud, { nodePort = 0 }: Port, request: Request): Fault | undefined {
  const isLeftOut = request.service.spec.allocateLoadBalancerNodePorts === false && nodePort === 0;
  if (request.product.needsNodePorts === undefined || !isLeftOut) return undefined;
  const message = `${nameOf(cloud, request)} sends to node ports: allow them with allocateLoadBalancerNodePorts`;
  return fault('fairlead.dev/NodePortRequired', message);
}

function samePortFault(cloud: Cloud, port: Port, request: Request): Fault | undefined {
  const { ports, product, service } = request;
  const twins = ports.filter((other) => other.port === port.port);
  if (twins.length < 2) return undefined;
  const what = `${twins.map(({ protocol }) => protocol).join(' and ')} on port ${port.port}`;
  if (product.mixed !== 'samePort') {
    const message = `${nameOf(cloud, request)} cannot have ${what}: use different numbers, or one Service for each`;
    return fault('fairlead.dev/SamePortNotSupported', message);
  }
  const optIn = product.samePortOptIn;
  if (optIn !== undefined && service.metadata.annotations?.[optIn] !== 'true') {
    const message = `${nameOf(cloud, request)} has ${what} only when asked: annotate the Service with ${optIn}: "true"`;
    return fault('fairlead.dev/SamePortOptInRequired', message);
  }
  // One listener for both has one target, so that the second number would never be sent to.
  const nodePorts = new Set(twins.flatMap(({ nodePort }) => nodePort || []));
  if (product.form !== 'merged' || nodePorts.size < 2) return undefined;
  const message = `${what} is one listener at ${nameOf(cloud, request)}, so that both need one node port, not ${[...nodePorts].join(' and ')}`;
  return fault('fairlead.dev/NodePortMismatch', message);
}

function l7Fault(cloud: Cloud, port: Port, request: Request): Fault | undefined {
  const wanted = request.l7.get(port.port);
  if (wanted === undefined) return undefined;
  const hasTcp = request.ports.some((other) => other.port === port.port && other.protocol === 'TCP');
  if (port.protocol !== 'TCP' && hasTcp) return undefined; // meant for its twin
  const code = 'fairlead.dev/UnsupportedAppProtocol';
  if (port.protocol !== 'TCP') return fault(code, `${wanted} needs a TCP port, and ${portText(port)} is none`);
  if (request.product.l7.includes(wanted)) return undefined;
  const known = request.product.l7.join(', ') || 'none';
  return fault(code, `${nameOf(cloud, request)} does not speak ${wanted}; of application protocols it has ${known}`);
}

/** How messages name a product. */
export const nameOf = ({ title }: Cloud, { product }: Pick<Request, 'product'>): string => `${title} ${product.title}`;
