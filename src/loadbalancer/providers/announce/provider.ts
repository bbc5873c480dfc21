import type { LoadBalancerStatus, Service } from '../../../api/kinds/core/service/schema.ts';
import type { Backends, Ensured, LoadBalancerProvider, ServiceIdentity } from '../../controller/provider.ts';
import type { Announcer } from './announcer.ts';

/**
 * A provider whose addresses an interface of this machine answers for: before the status tells of an address, and until
 * its load balancer is gone.
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
    // What is gone already, such as by hand, is not removed any more.
    if (found === undefined) await this.#announcer.setAddresses(uidOf(service), []);
    return found;
  }

  async ensure(service: Service, backends: Backends, signal: AbortSignal): Promise<Ensured | 'elsewhere'> {
    const ensured = await this.#inner.ensure(service, backends, signal);
    if (ensured === 'elsewhere') return ensured;
    const addresses = (ensured.status.ingress ?? []).flatMap(({ ip = '' }) => ip || []);
    // An address that is taken after all were given up would be kept by nobody, and had by two.
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

/** By this, not by its name: what is left of one that is gone may be removed after another has that name. */
const uidOf = ({ metadata: { uid = '' } }: Service): string => uid;
