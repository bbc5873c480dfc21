import { annotation } from './annotations.ts';
import type { Product } from './product.ts';
import { inBothEras } from './product.ts';
import type { Cloud } from './cloud.ts';
import { admission, backends, resource, unitResource } from './units.ts';

/** LB-16: a pair of Pods in the cluster with an address that moves between them. */
const products: readonly Product[] = inBothEras({
  name: 'nlb',
  title: 'NLB',
  askedBy: 'the default of classic clusters',
  l4: ['TCP', 'UDP'],
  l7: [],
  mixed: 'samePort',
  form: 'separate',
  unit: 'port',
  addressing: 'ip',
  ipMode: 'VIP',
  unverified: 'TCP and UDP on one number',
});

const prefix = 'service.kubernetes.io/ibm-load-balancer-cloud-provider';

/** IBM classic infrastructure: nothing of it is billed by the port. */
export const ibmClassic: Cloud = {
  name: 'ibm-classic',
  title: 'IBM classic',
  products,
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
