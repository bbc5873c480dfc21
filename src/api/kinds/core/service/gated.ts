import type { WriteContext } from '../../../kind.ts';
import { hasSrvName, withoutSrvName } from '../../../srv-name.ts';
import type { Service } from './schema.ts';

/** Clears fields whose gate is off and that the stored Service does not use yet. Reading never clears anything. */
export function dropGatedFields(service: Service, old: Service | undefined, { gates }: WriteContext): Service {
  const { ports } = service.spec;
  if (ports === undefined || gates.enabled('SRVServiceName')) return service;
  if (old?.spec.ports?.some(hasSrvName) || !ports.some(hasSrvName)) return service;
  return { ...service, spec: { ...service.spec, ports: ports.map(withoutSrvName) } };
}
