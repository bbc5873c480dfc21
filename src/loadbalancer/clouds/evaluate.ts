// Decides which ports of a Service a cloud serves: all, none, or, with the best-effort policy, as many as possible.
import type { Service } from '../../api/kinds/core/service/schema.ts';
import { annotation } from './annotations.ts';
import type { Cloud, Port, Request } from './cloud.ts';
import type { Fault } from './fault.ts';
import { fault, isAboutMixing, reasonOf } from './fault.ts';
import type { PortOutcome } from './ports.ts';
import { gateFault, isMixed, evaluatePorts, nameOf } from './ports.ts';
import type { Resource } from './resource.ts';
import { openPorts, portText } from './resource.ts';
import { unitsFor } from './units.ts';

/** Why a Service is not served, or only in part. */
export interface Problem {
  /** The reason in the condition. */
  readonly reason: string;
  readonly message: string;
  /** The Service has several protocols and would work with fewer. */
  readonly isAboutMixing: boolean;
  /** Only a change of the Service can resolve it. */
  readonly isFinal: boolean;
}

export interface Evaluation {
  /** The ports to set up; empty: nothing changes. */
  readonly served: readonly Port[];
  /** One per port of the Service, in its order. */
  readonly ports: readonly PortOutcome[];
  /** Set unless all ports are served. */
  readonly problem?: Problem;
}

/** The input of an evaluation besides the Service. */
export interface EvaluationContext {
  readonly isMixingAllowed: boolean;
  readonly existing: readonly Resource[];
}

/** With the value `best-effort`, a cloud that cannot serve all ports serves as many as it can. */
export const policyAnnotation = 'loadbalancer.fairlead.dev/port-policy';

const isBestEffort = (service: Service): boolean => annotation(service, policyAnnotation) === 'best-effort';

/** Evaluates the ports of a Service. */
export function evaluate(cloud: Cloud, request: Request, context: EvaluationContext): Evaluation {
  const { ports, service } = request;
  const gate = gateOf(cloud, request, context);
  const outcomes = outcomesOf(cloud, request, gate);
  const problem = problemOf(request, outcomes);
  if (problem === undefined) return { served: ports, ports: outcomes };
  // Best effort does not apply if the feature gate is off: the operator does not allow mixed load balancers.
  const served = isBestEffort(service) && gate === undefined ? servable(cloud, request, context.existing) : [];
  if (served.length === 0) return { served, ports: keptPorts(outcomes, context.existing), problem };
  const partial = ports.map((port) =>
    served.includes(port) ? outcomeOf(port) : unservedOutcome(cloud, request, served, port),
  );
  return { served, ports: partial, problem: problemOf(request, partial) ?? problem };
}

/**
 * As many ports as can be served together. Open ports come first, so that a change does not close them, then the others in
 * the order of the manifest. Ports that depend on another one are retried after it was added.
 */
function servable(cloud: Cloud, request: Request, existing: readonly Resource[]): readonly Port[] {
  const open = openPorts(existing);
  const isOpen = (port: Port): boolean => open.has(portText(port));
  const candidates = [...request.ports.filter(isOpen), ...request.ports.filter((port) => !isOpen(port))];
  const kept = new Set<Port>();
  for (let before = -1; before !== kept.size;) {
    before = kept.size;
    for (const port of candidates) {
      const ports = withPort(request, kept, port);
      const isServed = outcomesOf(cloud, { ...request, ports }).every((outcome) => outcome.fault === undefined);
      if (isServed) kept.add(port);
    }
  }
  return request.ports.filter((port) => kept.has(port));
}

/** Some ports and one more, in the order of the manifest. */
const withPort = ({ ports }: Request, some: ReadonlySet<Port>, port: Port): readonly Port[] =>
  ports.filter((each) => each === port || some.has(each));

/** The outcome of a port that is not among the served ones. */
function unservedOutcome(cloud: Cloud, request: Request, served: readonly Port[], port: Port): PortOutcome {
  const ports = withPort(request, new Set(served), port);
  return outcomesOf(cloud, { ...request, ports })[ports.indexOf(port)] ?? outcomeOf(port);
}

const outcomeOf = ({ port, protocol }: Port): PortOutcome => ({ port, protocol });

function gateOf(cloud: Cloud, { service, era, ports }: Request, context: EvaluationContext): Fault | undefined {
  if (cloud.mixesWithoutGate?.(service, era) === true) return undefined;
  const open = context.existing.flatMap(({ serves = [] }) => serves);
  return gateFault(context.isMixingAllowed, ports, open);
}

function outcomesOf(cloud: Cloud, request: Request, gate?: Fault): readonly PortOutcome[] {
  const outcomes = evaluatePorts(cloud, request, gate);
  if (outcomes.some((port) => port.fault !== undefined)) return outcomes;
  const { maxUnits, unit } = request.product;
  const count = (cloud.units?.(request) ?? unitsFor(request)).length;
  if (maxUnits === undefined || count <= maxUnits) return outcomes;
  const message = `${nameOf(cloud, request)} allows ${maxUnits} ${unit}s, but the Service needs ${count}`;
  return outcomes.map((port) => ({ ...port, fault: fault('fairlead.dev/QuotaExceeded', message) }));
}

function problemOf({ ports }: Request, outcomes: readonly PortOutcome[]): Problem | undefined {
  const faults = outcomes.flatMap((port) => port.fault ?? []);
  const [first] = faults.filter(({ code }) => code !== 'fairlead.dev/OtherPortRefused');
  if (first === undefined) return undefined;
  const isMixing = isMixed(ports) && isAboutMixing(first.code);
  const all = outcomes.map((port) => `${portText(port)} ${port.fault?.code ?? 'served'}`).join(', ');
  return {
    reason: isMixing ? 'LoadBalancerMixedProtocolNotSupported' : reasonOf(first.code),
    message: `${first.message} (ports: ${all})`,
    isAboutMixing: isMixing,
    isFinal: first.code !== 'fairlead.dev/QuotaExceeded' && first.code !== 'fairlead.dev/AddressNotStatic',
  };
}

/** Outcomes of an unchanged load balancer, whose open ports continue to be served. */
function keptPorts(outcomes: readonly PortOutcome[], existing: readonly Resource[]): readonly PortOutcome[] {
  const open = openPorts(existing);
  return outcomes.map((outcome) =>
    open.has(portText(outcome)) ? { port: outcome.port, protocol: outcome.protocol } : outcome,
  );
}
