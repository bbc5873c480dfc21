import { isReady, serviceKeyOf } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { RemoteVersion } from './remote-versions.ts';

/** The value of the condition Available. */
export interface Availability {
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** The availability once the server has answered. */
export const passed: Availability = { status: 'True', reason: 'Passed', message: 'all checks passed' };

/** Why the server of a version cannot be reached, as kube-apiserver words it; undefined: its discovery must be checked. */
export function missingBackend(
  { service: { namespace, name, port } }: RemoteVersion,
  service: Service | undefined,
  slicesInNamespace: readonly EndpointSlice[],
): Availability | undefined {
  const place = `service/${name} in ${JSON.stringify(namespace)}`;
  const no = (reason: string, message: string): Availability => ({ status: 'False', reason, message });
  if (service === undefined) return no('ServiceNotFound', `${place} is not present`);
  if ((service.spec.type ?? 'ClusterIP') !== 'ClusterIP') return undefined;
  const found = (service.spec.ports ?? []).find((each) => each.port === port);
  if (found === undefined) return no('ServicePortError', `${place} is not listening on port ${port}`);
  const slices = slicesInNamespace.filter((slice) => serviceKeyOf(slice) === `${namespace}/${name}`);
  if (slices.length === 0) return no('EndpointsNotFound', `cannot find endpointslices for ${place}`);
  const portName = found.name ?? '';
  const isActive = slices.some(
    ({ endpoints, ports }) =>
      (endpoints ?? []).some(isReady) &&
      (ports ?? []).some((each) => (each.name ?? '') === portName && each.port !== undefined),
  );
  return isActive
    ? undefined
    : no(
        'MissingEndpoints',
        `endpointslices for ${place} have no addresses with port name ${JSON.stringify(portName)}`,
      );
}
