// Objects for tests of the controllers, and a replacement for the server that applies plans.
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { Service, ServiceSpec } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import type { SliceWrites } from '../slices.ts';

/** A Service `shop/web` of one family that selects `app: web`, with port 80 to 8080. */
export const service = (spec: Partial<ServiceSpec> = {}, metadata: ObjectMeta = {}): Service => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'web-uid', ...metadata },
  spec: {
    type: 'ClusterIP',
    clusterIP: '10.96.0.1',
    ipFamilies: ['IPv4'],
    selector: { app: 'web' },
    ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }],
    ...spec,
  },
  status: { loadBalancer: {} },
});

/** A Service without a selector. */
export function serviceWithoutSelector(): Service {
  const { spec, ...rest } = service();
  const { selector: _, ...others } = spec;
  return { ...rest, spec: others };
}

/** Settings of a Pod; by default it is ready and on node `n1`. */
export interface PodSettings {
  readonly ips?: readonly string[];
  readonly node?: string;
  readonly ready?: boolean;
  readonly readyAt?: string;
  readonly terminating?: boolean;
  readonly phase?: string;
  readonly uid?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<Pod['spec']>;
}

/** A Pod of the Service. */
export function pod(name: string, settings: PodSettings = {}): Pod {
  const { ips = ['10.0.0.1'], node: nodeName = 'n1', ready = true, terminating = false, phase = 'Running' } = settings;
  const conditions = [
    { type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: settings.readyAt ?? '2026-01-01T00:00:00Z' },
  ];
  const object = {
    metadata: {
      name,
      namespace: settings.namespace ?? 'shop',
      uid: settings.uid ?? `${name}-uid`,
      labels: settings.labels ?? { app: 'web' },
      ...(terminating ? { deletionTimestamp: '2026-01-01T00:00:30Z' } : {}),
    },
    spec: { nodeName, containers: [], ...settings.spec },
    status: { phase, conditions, ...(ips[0] ? { podIP: ips[0], podIPs: ips.map((ip) => ({ ip })) } : {}) },
  };
  // Only the fields that controllers read are written out.
  return object as unknown as Pod;
}

/** Node name → ready node with a zone and CPU. */
export function nodes(
  zones: Readonly<Record<string, string>> = { n1: '' },
  cpu: Readonly<Record<string, string>> = {},
): ReadonlyMap<string, Node> {
  return new Map(
    Object.entries(zones).map(([name, zone]) => {
      const object = {
        metadata: { name, labels: zone === '' ? {} : { 'topology.kubernetes.io/zone': zone } },
        spec: {},
        status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: cpu[name] ?? '4' } },
      };
      // Only the fields that controllers read are written out.
      return [name, object as unknown as Node];
    }),
  );
}

/** The slices after a plan is applied; new slices get a name. */
export function applied(slices: readonly EndpointSlice[], { create, update, remove }: SliceWrites): EndpointSlice[] {
  const removed = new Set(remove.map(({ metadata }) => metadata.name));
  const updated = new Map(update.map((slice) => [slice.metadata.name, slice]));
  const highest = Math.max(0, ...slices.map(({ metadata }) => Number(metadata.name?.split('-').at(-1) ?? 0)));
  const created = create.map((slice, index) => ({
    ...slice,
    metadata: {
      ...slice.metadata,
      name: `${slice.metadata.generateName}${String(highest + index + 1).padStart(4, '0')}`,
      resourceVersion: '1',
    },
  }));
  const kept = slices.filter(({ metadata }) => !removed.has(metadata.name));
  return [...kept.map((slice) => updated.get(slice.metadata.name) ?? slice), ...created];
}
