import type { WriteContext } from '../../../kind.ts';
import type { Service, ServicePort } from './schema.ts';

const hasSrvName = (port: ServicePort): boolean => port.srvServiceName !== undefined;

function withoutSrvName(port: ServicePort): ServicePort {
  const { srvServiceName: _, ...rest } = port;
  return rest;
}

/** Clears fields whose gate is off and that the stored Service does not use yet. Reading never clears anything. */
export function dropGatedFields(service: Service, old: Service | undefined, { gates }: WriteContext): Service {
  const { ports } = service.spec;
  if (ports === undefined || gates.enabled('SRVServiceName')) return service;
  if (old?.spec.ports?.some(hasSrvName) || !ports.some(hasSrvName)) return service;
  return { ...service, spec: { ...service.spec, ports: ports.map(withoutSrvName) } };
}
