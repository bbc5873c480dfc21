import type { Protocol, Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';

/** What differs between Services of tests. */
export interface ServiceChanges {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Partial<ServiceSpec>;
  readonly name?: string;
}

/** A LoadBalancer Service with ports written as `53/UDP`, each with a node port that its number has. */
export function serviceWith(
  ports: string,
  { annotations = {}, spec = {}, name = 'web' }: ServiceChanges = {},
): Service {
  const parsed = ports.split(' ').map((text) => {
    const [port = '', protocol = 'TCP'] = text.split('/');
    // A cast since tests write the three protocols alone.
    return {
      name: `${protocol}-${port}`.toLowerCase(),
      port: Number(port),
      protocol: protocol as Protocol,
      nodePort: 30_000 + Number(port),
    };
  });
  return {
    metadata: { name, namespace: 'default', uid: `uid-${name}`, annotations },
    spec: { type: 'LoadBalancer', ports: parsed, ...spec },
    status: { loadBalancer: {} },
  };
}
