import type { UnitForm } from './product.ts';
import type { Port, Request, Unit } from './cloud.ts';
import type { Resource } from './resource.ts';

/** The counted units of a Service, in the order of the manifest. */
export function unitsFor({
  product,
  ports,
  families,
}: Pick<Request, 'product' | 'ports' | 'families'>): readonly Unit[] {
  return unitsIn(product.form, ports, families);
}

function unitsIn(form: UnitForm, ports: readonly Port[], families: readonly string[]): readonly Unit[] {
  switch (form) {
    case 'separate':
      return ports.map((port) => unit(`${port.protocol}:${port.port}`, [port]));
    case 'merged':
      return Array.from(Map.groupBy(ports, ({ port }) => port).values(), (same) =>
        unit(
          `${same
            .map(({ protocol }) => protocol)
            .toSorted()
            .join('_')}:${same[0]?.port}`,
          same,
        ),
      );
    case 'perProtocol':
      return Array.from(
        Map.groupBy(ports, ({ protocol }) => protocol),
        ([protocol, same]) => unit(protocol, same),
      );
    case 'everything':
      return families.map((family) => unit(family, ports));
  }
}

export const unit = (id: string, ports: readonly Port[]): Unit => ({
  id,
  serves: ports.map(({ protocol, port }) => ({ protocol, port })),
  ports,
});

/** The resource of a unit. */
export function unitResource(
  type: string,
  { id, serves, ports }: Unit,
  settings: Readonly<Record<string, string>> = {},
): Resource {
  const nodePort = ports[0]?.nodePort;
  return { type, id, serves, settings: { ...(nodePort ? { nodePort: String(nodePort) } : {}), ...settings } };
}

/** One target group or pool per unit. */
export const backendGroups = (type: string, units: readonly Unit[]): readonly Resource[] =>
  units.map(({ id, ports }) => resource(type, id, ports[0]?.nodePort ? { nodePort: String(ports[0].nodePort) } : {}));

/** A resource that is not counted. */
export const resource = (type: string, id: string, settings: Readonly<Record<string, string>> = {}): Resource => ({
  type,
  id,
  settings,
});

/** The nodes that receive traffic. */
export const backends = ({ nodes }: Request): Resource =>
  resource('Backends', 'nodes', {
    nodes: nodes
      .map(({ metadata: { name = '' } }) => name)
      .toSorted()
      .join(' '),
  });

/** Allowed client ranges; empty: all. The field of the Service wins over its annotation. */
export function sourceRanges({ service }: Pick<Request, 'service'>): readonly string[] {
  const { loadBalancerSourceRanges = [] } = service.spec;
  if (loadBalancerSourceRanges.length > 0) return loadBalancerSourceRanges;
  const text = service.metadata.annotations?.['service.beta.kubernetes.io/load-balancer-source-ranges'] ?? '';
  return text.split(',').flatMap((range) => range.trim() || []);
}

/** The firewall rule for clients. With `always: false` there is none if all clients are allowed. */
export function sourceRangeRules(type: string, request: Request, { always = true } = {}): readonly Resource[] {
  const ranges = sourceRanges(request);
  if (ranges.length === 0 && !always) return [];
  const ports = request.ports.map(({ port, protocol }) => `${port}/${protocol}`).join(' ');
  return [resource(type, 'clients', { sources: ranges.length === 0 ? 'all' : ranges.join(' '), ports })];
}
