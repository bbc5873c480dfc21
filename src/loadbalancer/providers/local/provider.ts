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
 * Load balancers without a cloud: addresses of pools, with traffic handled by the proxy of the nodes. Supports all protocols
 * in any combination. The allocations are stored in the status of Services.
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
    // Oldest first: of two Services with the same port, the older one keeps it.
    const byAge = services.toSorted((a, b) => ageOf(a) - ageOf(b));
    for (const service of byAge) {
      const addresses = addressesOf(service);
      if (addresses.length > 0)
        this.#allocator.adopt({ ...allocationRequestOf(service), ports: openPortsOf(service) }, addresses);
    }
  }

  async find(service: Service): Promise<LoadBalancerStatus | undefined> {
    const held = this.#allocator.addressesOf(allocationRequestOf(service).key);
    return held.length === 0 ? undefined : service.status.loadBalancer;
  }

  async ensure(service: Service): Promise<Ensured> {
    const request = allocationRequestOf(service);
    const open = openPortsOf(service);
    const addresses =
      gateFault(this.#options.isMixingAllowed, request.ports, open) ?? this.#allocator.allocate(request);
    if ('code' in addresses) return this.#refuse(service, request, addresses);
    const ingress = addresses.map((ip) => ingressWith({ ip, ipMode: 'VIP' }, request.ports));
    const before = addressesOf(service);
    const isNew = addresses.some((address) => !before.includes(address));
    const message = `Assigned ${addresses.join(' and ')}`;
    return { status: { ingress }, events: isNew ? [{ type: 'Normal', reason: 'IPAllocated', message }] : [] };
  }

  async updateBackends(): Promise<void> {} // the proxy watches nodes itself

  async remove(service: Service): Promise<void> {
    this.#allocator.release(allocationRequestOf(service).key);
  }

  async list(): Promise<[]> {
    return []; // the only state is in the Services
  }

  /** Existing addresses and open ports stay. */
  #refuse(service: Service, { key, ports }: AllocationRequest, fault: Fault): Ensured {
    const open = new Set(openPortsOf(service).map(portText));
    const outcomes = ports.map((port): PortOutcome => (open.has(portText(port)) ? port : { ...port, fault }));
    const all = ports.map((port) => `${portText(port)} ${fault.code}`).join(', ');
    const isMixing = fault.code === 'MixedProtocolNotSupported';
    const reason = reasonOf(fault.code);
    const message = `${fault.message} (ports: ${all})`;
    const kept = this.#allocator.addressesOf(key).map((ip) => ({ ip, ipMode: 'VIP' }) as const);
    return {
      status: { ingress: refusedIngress(kept, outcomes, fault.message) },
      // Retried, because other Services release addresses.
      refusal: { reason, message, isAboutMixing: isMixing, isFinal: isMixing },
      events: [{ type: 'Warning', reason: isMixing ? reason : 'AllocationFailed', message }],
    };
  }
}

const addressesOf = ({ status }: Service): readonly string[] =>
  (status.loadBalancer.ingress ?? []).flatMap(({ ip = '' }) => ip || []);

/** The open ports according to the status; all if it has no port status. */
function openPortsOf(service: Service): readonly OpenPort[] {
  const [entry] = service.status.loadBalancer.ingress ?? [];
  if (entry === undefined) return [];
  if (entry.ports === undefined || entry.ports.length === 0) return allocationRequestOf(service).ports;
  return entry.ports.filter(({ error }) => error === undefined);
}

const ageOf = ({ metadata }: Service): number => Date.parse(metadata.creationTimestamp ?? '') || 0;
