import type { LoadBalancerStatus, Service } from '../../../api/kinds/core/service/schema.ts';
import type { Backends, Ensured, LoadBalancerProvider, ServiceIdentity } from '../../controller/provider.ts';
import type { Announcer } from './announcer.ts';

/**
 * Wraps a provider and assigns its addresses to a network interface, before they are written to the status and until the
 * load balancer is deleted.
 */
export class AnnouncingProvider implements LoadBalancerProvider {
  readonly name: string;
  readonly classes: readonly string[];
  readonly ignoresNodes?: true;
  readonly checksHealth?: true;
  readonly #inner: LoadBalancerProvider;
  readonly #announcer: Pick<Announcer, 'setAddresses' | 'run'>;

  constructor(inner: LoadBalancerProvider, announcer: Pick<Announcer, 'setAddresses' | 'run'>) {
    this.#inner = inner;
    this.#announcer = announcer;
    this.name = inner.name;
    this.classes = inner.classes;
    if (inner.ignoresNodes === true) this.ignoresNodes = true;
    if (inner.checksHealth === true) this.checksHealth = true;
  }

  async start(services: readonly Service[], signal: AbortSignal): Promise<void> {
    await this.#inner.start?.(services, signal);
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#inner.run?.(signal), this.#announcer.run(signal)]);
  }

  async find(service: Service, signal: AbortSignal): Promise<LoadBalancerStatus | undefined> {
    const found = await this.#inner.find(service, signal);
    // The controller does not call `remove` for a load balancer that was deleted by hand.
    if (found === undefined) await this.#announcer.setAddresses(uidOf(service), []);
    return found;
  }

  async ensure(service: Service, backends: Backends, signal: AbortSignal): Promise<Ensured | 'elsewhere'> {
    const ensured = await this.#inner.ensure(service, backends, signal);
    if (ensured === 'elsewhere') return ensured;
    const addresses = (ensured.status.ingress ?? []).flatMap(({ ip = '' }) => ip || []);
    // After the end of the term another machine may own the address, and nothing would remove it here.
    signal.throwIfAborted();
    await this.#announcer.setAddresses(uidOf(service), addresses);
    return ensured;
  }

  updateBackends(service: Service, backends: Backends, signal: AbortSignal): Promise<void> {
    return this.#inner.updateBackends(service, backends, signal);
  }

  async remove(service: Service, signal: AbortSignal): Promise<void> {
    await this.#inner.remove(service, signal);
    await this.#announcer.setAddresses(uidOf(service), []);
  }

  list(signal: AbortSignal): Promise<readonly ServiceIdentity[]> {
    return this.#inner.list(signal);
  }
}

/** The UID, because a Service may be replaced by another of the same name before its load balancer is removed. */
const uidOf = ({ metadata: { uid = '' } }: Service): string => uid;
