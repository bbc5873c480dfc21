import type { Protocol, Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';

/** Settings of a test Service. */
export interface ServiceChanges {
  readonly annotations?: Readonly<Record<string, string>>;
  readonly spec?: Partial<ServiceSpec>;
  readonly name?: string;
}

/** A LoadBalancer Service with ports written as `53/UDP`; the node port is 30000 plus the port. */
export function serviceWith(
  ports: string,
  { annotations = {}, spec = {}, name = 'web' }: ServiceChanges = {},
): Service {
  const parsed = ports.split(' ').map((text) => {
    const [port = '', protocol = 'TCP'] = text.split('/');
    // A cast: tests use only the three protocols.
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
