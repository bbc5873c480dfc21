import { annotation } from '../annotations.ts';
import type { Cloud } from '../cloud.ts';
import { backends, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const prefix = 'service.beta.kubernetes.io/tencentcloud-loadbalancer';
const internalSubnet = 'service.kubernetes.io/qcloud-loadbalancer-internal-subnetid';

/** Tencent: listeners do not change the price. Its own code takes what it does not know for TCP; here it is refused. */
export const tencent: Cloud = {
  name: 'tencent',
  title: 'Tencent',
  kinds,
  choose: () => 'clb',
  isInternal: (service) =>
    annotation(service, internalSubnet) !== '' || annotation(service, `${prefix}-type`) === 'private',
  resources(request, units) {
    const { service, isInternal } = request;
    const subnet = annotation(service, internalSubnet) || annotation(service, `${prefix}-type-internal-subnet-id`);
    return [
      resource('LoadBalancer', 'instance', {
        type: isInternal ? 'private' : 'public',
        kind: annotation(service, `${prefix}-kind`) || 'application',
        ...(subnet && { subnet }),
      }),
      backends(request),
      // A port that speaks HTTP is a TCP listener as any other.
      ...units.map((unit) => unitResource('Listener', unit, { protocol: unit.ports[0]?.protocol ?? 'TCP' })),
    ];
  },
};
