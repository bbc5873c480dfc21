import { annotation } from '../annotations.ts';
import type { Cloud } from '../cloud.ts';
import { admission, backends, resource, unitResource } from '../units.ts';
import { kinds } from './kinds.ts';

const prefix = 'service.kubernetes.io/ibm-load-balancer-cloud-provider';

/** IBM classic infrastructure: nothing of it is billed by the port. */
export const ibmClassic: Cloud = {
  name: 'ibm-classic',
  title: 'IBM classic',
  kinds,
  choose: () => 'nlb',
  isInternal: (service) => annotation(service, `${prefix}-ip-type`) === 'private',
  resources: (request, units) => [
    resource('PortableAddress', 'address', { type: request.isInternal ? 'private' : 'public' }),
    resource('KeepalivedPods', 'pair', {
      replicas: '2',
      scheduler: annotation(request.service, `${prefix}-ipvs-scheduler`) || 'rr',
    }),
    backends(request),
    ...units.map((unit) => unitResource('Port', unit)),
    ...admission('NetworkPolicy', request, { always: false }),
  ],
};
