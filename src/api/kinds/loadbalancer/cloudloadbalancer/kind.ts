// CloudLoadBalancer: a load balancer of a simulated cloud, with the cloud resources it consists of (LB-21, LB-22).
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, int32, list, map, optional, string, struct } from '../../../schema/schema.ts';
import { protocol } from '../../core/service/schema.ts';

const group = 'dev.fairlead.loadbalancer.v1alpha1';

const openPort = struct(`${group}.OpenPort`, 'A port that a resource serves.', {
  port: always(1, int32, 'The number of the port.', { required: true }),
  protocol: always(2, protocol, 'Its protocol.', { required: true }),
});

const cloudResource = struct(`${group}.CloudResource`, 'A resource of the cloud.', {
  type: always(1, string, 'Type of the resource at the cloud provider.', { required: true }),
  id: always(2, string, 'ID of the resource.', { required: true }),
  serves: optional(3, list(openPort), 'The ports it serves; only for resources that count against a limit.'),
  settings: optional(4, map(string), 'Further settings.'),
});

const servedService = struct(`${group}.ServedService`, 'The Service of a load balancer.', {
  namespace: always(1, string, 'Its namespace.', { required: true }),
  name: always(2, string, 'Its name.', { required: true }),
  uid: always(3, string, 'Its UID.', { required: true }),
});

const cloudLoadBalancer = objectSchema(`${group}.CloudLoadBalancer`, 'A load balancer of a simulated cloud.', {
  spec: always(
    2,
    struct(`${group}.CloudLoadBalancerSpec`, 'The state at the cloud provider.', {
      provider: always(1, string, 'The cloud.', { required: true }),
      kind: always(2, string, 'The kind of load balancer.', { required: true }),
      era: always(3, string, '2020-07: the cloud as of July 2020; today: as it is now.', { required: true }),
      internal: optional(4, boolean, 'Whether it is internal.'),
      address: optional(5, string, 'Its address.'),
      service: always(6, servedService, 'The Service of the load balancer.', { required: true }),
      resources: optional(7, list(cloudResource), 'Its cloud resources.'),
    }),
    'The state at the cloud provider.',
  ),
});

export type CloudLoadBalancer = Infer<typeof cloudLoadBalancer>;

/** Cluster-scoped, because a load balancer can outlive the namespace of its Service. */
export const cloudLoadBalancerKind = defineKind<CloudLoadBalancer>({
  group: 'loadbalancer.fairlead.dev',
  version: 'v1alpha1',
  kind: 'CloudLoadBalancer',
  plural: 'cloudloadbalancers',
  shortNames: ['clb'],
  namespaced: false,
  schema: cloudLoadBalancer,
  custom: true,
  generation: 'content',
  unconditionalUpdate: false,
  columns: [
    nameColumn,
    column('Provider', 'The cloud.', ({ spec }) => spec.provider, { path: '.spec.provider' }),
    column('Kind', 'The kind of load balancer.', ({ spec }) => spec.kind, { path: '.spec.kind' }),
    column('Service', 'Its Service.', ({ spec }) => `${spec.service.namespace}/${spec.service.name}`),
    column('Address', 'Its address.', ({ spec }) => spec.address ?? '', { path: '.spec.address' }),
    column('Units', 'Number of resources that count against a limit.', ({ spec }) =>
      String((spec.resources ?? []).filter(({ serves = [] }) => serves.length > 0).length),
    ),
    customAgeColumn,
  ],
});
