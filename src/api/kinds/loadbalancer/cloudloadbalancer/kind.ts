// A load balancer of a simulated cloud, with everything that the cloud would have for it (LB-21, LB-22).
import { column, customAgeColumn, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { objectSchema } from '../../../metadata.ts';
import { subdomainName } from '../../../names.ts';
import type { Infer } from '../../../schema/infer.ts';
import { always, boolean, int32, list, map, optional, string, struct } from '../../../schema/schema.ts';
import { protocol } from '../../core/service/schema.ts';

const group = 'dev.fairlead.loadbalancer.v1alpha1';

const openPort = struct(`${group}.OpenPort`, 'A port that a resource serves.', {
  port: always(1, int32, 'The number of the port.', { required: true }),
  protocol: always(2, protocol, 'Its protocol.', { required: true }),
});

const cloudResource = struct(`${group}.CloudResource`, 'One object of the cloud.', {
  type: always(1, string, 'What it is, in the words of the cloud.', { required: true }),
  id: always(2, string, 'Which one of its type.', { required: true }),
  serves: optional(3, list(openPort), 'The ports that it serves; only on what the cloud counts.'),
  settings: optional(4, map(string), 'What else is set.'),
});

const servedService = struct(`${group}.ServedService`, 'The Service that a load balancer was made for.', {
  namespace: always(1, string, 'Its namespace.', { required: true }),
  name: always(2, string, 'Its name.', { required: true }),
  uid: always(3, string, 'Its UID.', { required: true }),
});

const cloudLoadBalancer = objectSchema(`${group}.CloudLoadBalancer`, 'A load balancer of a simulated cloud.', {
  spec: always(
    2,
    struct(`${group}.CloudLoadBalancerSpec`, 'What the cloud has.', {
      provider: always(1, string, 'The cloud.', { required: true }),
      kind: always(2, string, 'The kind of load balancer.', { required: true }),
      era: always(3, string, 'seed: the cloud as of July 2020; today: as it is now.', { required: true }),
      internal: optional(4, boolean, 'Whether it is reached from inside only.'),
      address: optional(5, string, 'Where it is reached.'),
      service: always(6, servedService, 'The Service that it was made for.', { required: true }),
      resources: optional(7, list(cloudResource), 'What it is made of.'),
    }),
    'What the cloud has.',
  ),
});

export type CloudLoadBalancer = Infer<typeof cloudLoadBalancer>;

/** Outside namespaces, as in a cloud: it outlives the namespace of a Service, and what is left over can be seen. */
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
    column('Provider', 'The cloud.', ({ spec }) => spec.provider),
    column('Kind', 'The kind of load balancer.', ({ spec }) => spec.kind),
    column('Service', 'What it was made for.', ({ spec }) => `${spec.service.namespace}/${spec.service.name}`),
    column('Address', 'Where it is reached.', ({ spec }) => spec.address ?? ''),
    column('Units', 'What the cloud counts.', ({ spec }) =>
      String((spec.resources ?? []).filter(({ serves = [] }) => serves.length > 0).length),
    ),
    customAgeColumn,
  ],
  nameErrors: subdomainName,
});
