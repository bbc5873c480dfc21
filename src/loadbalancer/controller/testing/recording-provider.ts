import type { Service } from '../../../api/kinds/core/service/schema.ts';
import { ingressWith } from '../../clouds/ingress.ts';
import { cleanupFinalizer } from '../needs.ts';
import type { Backends, Ensured, LoadBalancerProvider } from '../provider.ts';

/** A provider that records its calls. */
export class RecordingProvider implements LoadBalancerProvider {
  readonly name = 'recorder';
  readonly classes = ['example.org/ours'];
  readonly calls: string[] = [];
  readonly made = new Set<string>();
  /** Errors of the next calls, one each. */
  readonly errors: Error[] = [];
  /** Errors of the next list calls. */
  readonly searchErrors: Error[] = [];
  searches = 0;
  isElsewhere = false;
  /** The Services whose traffic goes to endpoints. */
  toEndpoints: (service: Service) => boolean = () => false;

  sendsToEndpoints(service: Service): boolean {
    return this.toEndpoints(service);
  }

  async find(service: Service): Promise<Service['status']['loadBalancer'] | undefined> {
    return this.made.has(service.metadata.uid ?? '') ? {} : undefined;
  }

  async ensure(service: Service, { nodes }: Backends): Promise<Ensured | 'elsewhere'> {
    const { metadata, spec } = service;
    const held = metadata.finalizers?.includes(cleanupFinalizer) === true ? 'held' : 'not held';
    this.calls.push(`ensure ${metadata.name} ${held} [${nodes.map((node) => node.metadata.name).join(' ')}]`);
    this.#fail();
    if (this.isElsewhere) return 'elsewhere';
    this.made.add(metadata.uid ?? '');
    const ports = (spec.ports ?? []).map(({ port, protocol = 'TCP' }) => ({ port, protocol }));
    return { status: { ingress: [ingressWith({ ip: '192.0.2.1', ipMode: 'VIP' }, ports)] }, events: [] };
  }

  async updateBackends(service: Service, { nodes, slices }: Backends): Promise<void> {
    const endpoints = slices.flatMap((slice) => (slice.endpoints ?? []).flatMap(({ addresses }) => addresses ?? []));
    const what = endpoints.length === 0 ? nodes.map((node) => node.metadata.name) : endpoints;
    this.calls.push(`${endpoints.length === 0 ? 'nodes' : 'endpoints'} ${service.metadata.name} [${what.join(' ')}]`);
    this.#fail();
  }

  async remove(service: Service): Promise<void> {
    this.calls.push(`remove ${service.metadata.name}`);
    this.#fail();
    this.made.delete(service.metadata.uid ?? '');
  }

  async list(): Promise<{ namespace: string; name: string; uid: string }[]> {
    this.searches++;
    this.#fail(this.searchErrors);
    return Array.from(this.made, (uid) => ({ namespace: 'default', name: 'gone', uid }));
  }

  #fail(errors = this.errors): void {
    const error = errors.shift();
    if (error !== undefined) throw error;
  }
}
