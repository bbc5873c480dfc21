// What of a Service a cloud serves: all of its ports; those that it can, where the Service says that some are better than
// none; or nothing.
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

/** Why a Service is not served, or not whole. */
export interface Problem {
  /** The reason of the condition. */
  readonly reason: string;
  readonly message: string;
  /** The Service asks for several protocols, and would work with fewer. */
  readonly isAboutMixing: boolean;
  /** Nothing but a change of the Service helps. */
  readonly isFinal: boolean;
}

export interface Evaluation {
  /** The ports to set up; none: nothing changes. */
  readonly served: readonly Port[];
  /** One for each port of the Service, in its order. */
  readonly ports: readonly PortOutcome[];
  /** Present unless every port is served. */
  readonly problem?: Problem;
}

/** What is judged by, beside the Service. */
export interface EvaluationContext {
  readonly isMixingAllowed: boolean;
  readonly existing: readonly Resource[];
}

/** Asks for the ports that a cloud can serve, where it cannot serve all: `best-effort`. Otherwise it is all or nothing. */
export const policyAnnotation = 'loadbalancer.fairlead.dev/port-policy';

const isBestEffort = (service: Service): boolean => annotation(service, policyAnnotation) === 'best-effort';

/** Judges a Service. */
export function evaluate(cloud: Cloud, request: Request, standpoint: EvaluationContext): Evaluation {
  const { ports, service } = request;
  const gate = gateOf(cloud, request, standpoint);
  const outcomes = outcomesOf(cloud, request, gate);
  const problem = problemOf(request, outcomes);
  if (problem === undefined) return { served: ports, ports: outcomes };
  // A gate that is off is no inability of a cloud: somebody wants no mixed load balancers.
  const served = isBestEffort(service) && gate === undefined ? servable(cloud, request, standpoint.existing) : [];
  if (served.length === 0) return { served, ports: keptPorts(outcomes, standpoint.existing), problem };
  const partial = ports.map((port) =>
    served.includes(port) ? outcomeOf(port) : leftOut(cloud, request, served, port),
  );
  return { served, ports: partial, problem: problemOf(request, partial) ?? problem };
}

/**
 * As many ports as can be served together. Those that are open already come first, so that a change closes none of
 * them for another, then those that the manifest names first. One that needs another is tried again after that.
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

/** In the order of the manifest. */
const withPort = ({ ports }: Request, some: ReadonlySet<Port>, port: Port): readonly Port[] =>
  ports.filter((each) => each === port || some.has(each));

/** What stands against a port beside those that are served. */
function leftOut(cloud: Cloud, request: Request, served: readonly Port[], port: Port): PortOutcome {
  const ports = withPort(request, new Set(served), port);
  return outcomesOf(cloud, { ...request, ports })[ports.indexOf(port)] ?? outcomeOf(port);
}

const outcomeOf = ({ port, protocol }: Port): PortOutcome => ({ port, protocol });

function gateOf(cloud: Cloud, { service, era, ports }: Request, standpoint: EvaluationContext): Fault | undefined {
  if (cloud.mixesWithoutGate?.(service, era) === true) return undefined;
  const open = standpoint.existing.flatMap(({ serves = [] }) => serves);
  return gateFault(standpoint.isMixingAllowed, ports, open);
}

function outcomesOf(cloud: Cloud, request: Request, gate?: Fault): readonly PortOutcome[] {
  const judged = evaluatePorts(cloud, request, gate);
  if (judged.some((port) => port.fault !== undefined)) return judged;
  const { maxUnits, unit } = request.product;
  const count = (cloud.units?.(request) ?? unitsFor(request)).length;
  if (maxUnits === undefined || count <= maxUnits) return judged;
  const message = `${nameOf(cloud, request)} has room for ${maxUnits} of its kind ${unit}, and ${count} are asked for`;
  return judged.map((port) => ({ ...port, fault: fault('fairlead.dev/QuotaExceeded', message) }));
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

/** What a load balancer serves that stays as it is: its old ports go on. */
function keptPorts(outcomes: readonly PortOutcome[], existing: readonly Resource[]): readonly PortOutcome[] {
  const open = openPorts(existing);
  return outcomes.map((outcome) =>
    open.has(portText(outcome)) ? { port: outcome.port, protocol: outcome.protocol } : outcome,
  );
}
