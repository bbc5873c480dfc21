import { annotation, listed } from '../annotations.ts';
import type { Cloud } from '../cloud.ts';
import { admission, backends, besideUnits, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const prefix = 'service.kubernetes.io/ibm-load-balancer-cloud-provider';

/** IBM VPC: a load balancer for each Service, whose listeners need node ports. */
export const ibmVpc: Cloud = {
  name: 'ibm-vpc',
  title: 'IBM VPC',
  kinds,
  choose: (service, era) =>
    era === 'today' && listed(service, `${prefix}-enable-features`).includes('nlb') ? 'nlb' : 'alb',
  isInternal: (service) => annotation(service, `${prefix}-ip-type`) === 'private',
  resources: (request, units) => [
    resource('LoadBalancer', 'instance', {
      type: request.isInternal ? 'private' : 'public',
      // A network load balancer lives in one zone.
      ...(request.kind.name === 'nlb' && { zone: annotation(request.service, `${prefix}-zone`) || 'any' }),
    }),
    ...besideUnits('Pool', units),
    backends(request),
    ...units.map((unit) => unitResource('Listener', unit)),
    ...admission('SecurityGroup', request),
  ],
};
