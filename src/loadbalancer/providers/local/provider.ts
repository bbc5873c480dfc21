import type { LoadBalancerStatus, Service } from '../../../api/kinds/core/service/schema.ts';
import type { Ensured, LoadBalancerProvider } from '../../controller/provider.ts';
import type { Fault } from '../../clouds/fault.ts';
import { reasonOf } from '../../clouds/fault.ts';
import { ingressWith, refusedIngress } from '../../clouds/ingress.ts';
import type { PortOutcome } from '../../clouds/ports.ts';
import { gateFault } from '../../clouds/ports.ts';
import type { OpenPort } from '../../clouds/resource.ts';
import { portText } from '../../clouds/resource.ts';
import { Allocator } from './allocator.ts';
import type { Pool } from './pools.ts';
import type { AllocationRequest } from './allocation-request.ts';
import { allocationRequestOf } from './allocation-request.ts';

export interface LocalOptions {
  readonly pools: readonly Pool[];
  /** Whether the gate MixedProtocolLBService is on. */
  readonly isMixingAllowed: boolean;
}

/**
 * Load balancers without a cloud: addresses of pools, announced by status, with traffic carried by the proxy of the
 * nodes. All protocols, mixed as a Service likes. What was given is in the status of Services, and read from there.
 */
export class LocalProvider implements LoadBalancerProvider {
  readonly name = 'local';
  readonly ignoresNodes = true;
  readonly checksHealth = true;
  readonly classes = ['loadbalancer.fairlead.dev/local'];
  readonly #options: LocalOptions;
  #allocator: Allocator;

  constructor(options: LocalOptions) {
    this.#options = options;
    this.#allocator = new Allocator(options.pools);
  }

  async start(services: readonly Service[]): Promise<void> {
    this.#allocator = new Allocator(this.#options.pools);
    // The eldest first: of two that claim one port, the one that came first has it.
    const byAge = services.toSorted((a, b) => ageOf(a) - ageOf(b));
    for (const service of byAge) {
      const addresses = addressesOf(service);
      if (addresses.length > 0)
        this.#allocator.adopt({ ...allocationRequestOf(service), ports: openPortsOf(service) }, addresses);
    }
  }

  async find(service: Service): Promise<LoadBalancerStatus | undefined> {
    const held = this.#allocator.held(allocationRequestOf(service).key);
    return held.length === 0 ? undefined : service.status.loadBalancer;
  }

  async ensure(service: Service): Promise<Ensured> {
    const wishes = allocationRequestOf(service);
    const open = openPortsOf(service);
    const given = gateFault(this.#options.isMixingAllowed, wishes.ports, open) ?? this.#allocator.allocate(wishes);
    if ('code' in given) return this.#refuse(service, wishes, given);
    const ingress = given.map((ip) => ingressWith({ ip, ipMode: 'VIP' }, wishes.ports));
    const before = addressesOf(service);
    const isNew = given.some((address) => !before.includes(address));
    const message = `Assigned ${given.join(' and ')}`;
    return { status: { ingress }, events: isNew ? [{ type: 'Normal', reason: 'IPAllocated', message }] : [] };
  }

  async updateBackends(): Promise<void> {} // The proxy knows its nodes.

  async remove(service: Service): Promise<void> {
    this.#allocator.release(allocationRequestOf(service).key);
  }

  async list(): Promise<[]> {
    return []; // Nothing is anywhere but in the Services themselves.
  }

  /** What a Service had goes on, for the ports that it had. */
  #refuse(service: Service, { key, ports }: AllocationRequest, fault: Fault): Ensured {
    const open = new Set(openPortsOf(service).map(portText));
    const outcomes = ports.map((port): PortOutcome => (open.has(portText(port)) ? port : { ...port, fault }));
    const all = ports.map((port) => `${portText(port)} ${fault.code}`).join(', ');
    const isMixing = fault.code === 'MixedProtocolNotSupported';
    const reason = reasonOf(fault.code);
    const message = `${fault.message} (ports: ${all})`;
    const places = this.#allocator.held(key).map((ip) => ({ ip, ipMode: 'VIP' }) as const);
    return {
      status: { ingress: refusedIngress(places, outcomes, fault.message) },
      // Addresses come free as other Services go.
      refusal: { reason, message, isAboutMixing: isMixing, isFinal: isMixing },
      events: [{ type: 'Warning', reason: isMixing ? reason : 'AllocationFailed', message }],
    };
  }
}

const addressesOf = ({ status }: Service): readonly string[] =>
  (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }) => ip || []);

/** The ports that are open according to the status; all, where it says nothing of ports. */
function openPortsOf(service: Service): readonly OpenPort[] {
  const [entry] = service.status.loadBalancer.ingress ?? [];
  if (entry === undefined) return [];
  if (entry.ports === undefined || entry.ports.length === 0) return allocationRequestOf(service).ports;
  return entry.ports.filter(({ error }) => error === undefined);
}

const ageOf = ({ metadata }: Service): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
