// Plans the Endpoints of one Service, the predecessor of EndpointSlices that old clients read.
import { hasClusterIp } from '../../api/kinds/core/service/facts.ts';
import type { Gates } from '../../api/gates.ts';
import type {
  EndpointAddress,
  EndpointPort,
  Endpoints,
  EndpointSubset,
} from '../../api/kinds/core/endpoints/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import { headlessLabel, triggerTimeAnnotation } from '../../api/kinds/discovery/endpointslice/labels.ts';
import { familyOf } from '../../api/addresses.ts';
import {
  addressesOf,
  hasManagedEndpoints,
  hostnameIn,
  isReady,
  isTerminating,
  referenceTo,
  selectedPods,
} from '../backend.ts';
import { sameMap } from '../slices.ts';
import { repack, sameSubsets } from '../subsets.ts';
import type { TargetPort } from '../target-ports.ts';
import { portGroups } from '../target-ports.ts';

const managedByLabel = 'endpoints.kubernetes.io/managed-by';
const managedBy = 'endpoint-controller';
/** Has the value `truncated` if there are more endpoints than `maxAddresses`. */
const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity';

/** On Endpoints that old clients use as a leader election lock. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';

/** The input of a plan. */
export interface Observed {
  /** undefined: it does not exist. */
  readonly service: Service | undefined;
  readonly pods: readonly Pod[];
  /** The existing Endpoints. */
  readonly endpoints: Endpoints | undefined;
  readonly gates: Gates;
  /** See trigger-time.ts. */
  readonly triggerTime?: string | undefined;
}

/** At most one write; none if the Endpoints are up to date. */
export interface Plan {
  readonly create: readonly Endpoints[];
  readonly update: readonly Endpoints[];
  readonly remove: readonly Endpoints[];
}

const nothing: Plan = { create: [], update: [], remove: [] };

/** Plans the Endpoints of one Service. */
export function plan(observed: Observed): Plan {
  const { service, endpoints } = observed;
  if (service === undefined) {
    const isLock = endpoints?.metadata.annotations?.[leaderAnnotation] !== undefined;
    return endpoints === undefined || isLock ? nothing : { ...nothing, remove: [endpoints] };
  }
  if (!hasManagedEndpoints(service)) return nothing;
  const all = repack(subsetsOf(service, observed));
  const cut = truncated(all);
  const wanted = wantedEndpoints(observed, service, { subsets: cut ?? all, isCut: cut !== undefined });
  if (endpoints === undefined) return { ...nothing, create: [wanted] };
  return isCurrent(endpoints, wanted) ? nothing : { ...nothing, update: [wanted] };
}

/** Endpoints have one family: the first of the Service. */
const primaryFamily = ({ spec: { ipFamilies = [], clusterIP = '' } }: Service): IpFamily =>
  ipFamilies[0] ?? familyOf(clusterIP) ?? 'IPv4';

function subsetsOf(service: Service, { pods, gates }: Observed): readonly EndpointSubset[] {
  const publishesAll = service.spec.publishNotReadyAddresses ?? false;
  const family = primaryFamily(service);
  const published = selectedPods(service, pods).filter((pod) => publishesAll || !isTerminating(pod));
  return portGroups(service, published, gates).flatMap((group) => {
    // A Pod without any of the ports is in no subset, unless the Service has no ports.
    if (group.ports.length === 0 && service.spec.ports?.length) return [];
    const addresses: EndpointAddress[] = [];
    const notReadyAddresses: EndpointAddress[] = [];
    for (const pod of group.pods) {
      const [ip] = addressesOf(pod, family);
      if (ip === undefined) continue;
      (publishesAll || isReady(pod) ? addresses : notReadyAddresses).push(addressOf(pod, ip, hostnameIn(pod, service)));
    }
    return [{ addresses, notReadyAddresses, ports: group.ports.map(portOf) }];
  });
}

const addressOf = (pod: Pod, ip: string, hostname: string): EndpointAddress => ({
  ip,
  ...(hostname === '' ? {} : { hostname }),
  // Kubernetes sends an empty name for a Pod without a node, and rejects that.
  ...(pod.spec.nodeName ? { nodeName: pod.spec.nodeName } : {}),
  targetRef: referenceTo(pod),
});

const portOf = ({ name, ...rest }: TargetPort): EndpointPort => (name === '' ? rest : { name, ...rest });

function wantedEndpoints(
  { endpoints, triggerTime }: Observed,
  service: Service,
  { subsets, isCut }: { readonly subsets: readonly EndpointSubset[]; readonly isCut: boolean },
): Endpoints {
  const { name = '', namespace = '', labels } = service.metadata;
  const { annotations: _annotations, ...metadata } = endpoints?.metadata ?? { name, namespace };
  const { [headlessLabel]: _headless, ...copied } = labels ?? {};
  const {
    [triggerTimeAnnotation]: _time,
    [overCapacityAnnotation]: _capacity,
    ...kept
  } = endpoints?.metadata.annotations ?? {};
  const annotations = {
    ...kept,
    ...(triggerTime === undefined ? {} : { [triggerTimeAnnotation]: triggerTime }),
    ...(isCut ? { [overCapacityAnnotation]: 'truncated' } : {}),
  };
  return {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: {
      ...metadata,
      labels: { ...copied, [managedByLabel]: managedBy, ...(hasClusterIp(service) ? {} : { [headlessLabel]: '' }) },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ...(subsets.length === 0 ? {} : { subsets }),
  };
}

/** A new trigger time alone does not cause a write. */
function isCurrent(endpoints: Endpoints, wanted: Endpoints): boolean {
  const capacity = (of: Endpoints): string | undefined => of.metadata.annotations?.[overCapacityAnnotation];
  return (
    capacity(endpoints) === capacity(wanted) &&
    sameMap(endpoints.metadata.labels, wanted.metadata.labels) &&
    sameSubsets(endpoints.subsets ?? [], wanted.subsets ?? [])
  );
}

/** The maximum number of addresses of an Endpoints object, as in Kubernetes. */
const maxAddresses = 1000;

/** The subsets truncated to `maxAddresses`, ready addresses first; undefined if they fit. */
export function truncated(subsets: readonly EndpointSubset[]): readonly EndpointSubset[] | undefined {
  const ready = subsets.reduce((sum, { addresses = [] }) => sum + addresses.length, 0);
  const notReady = subsets.reduce((sum, { notReadyAddresses = [] }) => sum + notReadyAddresses.length, 0);
  if (ready + notReady <= maxAddresses) return undefined;
  const readyCut = cutter(ready, Math.min(ready, maxAddresses));
  const notReadyCut = cutter(notReady, Math.max(0, maxAddresses - ready));
  return subsets.flatMap(({ addresses = [], notReadyAddresses = [], ...rest }) => {
    const kept = readyCut(addresses);
    const keptNotReady = notReadyCut(notReadyAddresses);
    if (kept.length + keptNotReady.length === 0) return [];
    return [
      {
        ...(kept.length === 0 ? {} : { addresses: kept }),
        ...(keptNotReady.length === 0 ? {} : { notReadyAddresses: keptNotReady }),
        ...rest,
      },
    ];
  });
}

/** Returns a function that truncates lists in proportion, `budget` of `total` items in all. */
function cutter(total: number, budget: number): (list: readonly EndpointAddress[]) => readonly EndpointAddress[] {
  let left = budget;
  return (list) => {
    const count = Math.min(Math.ceil((list.length / Math.max(total, 1)) * budget), left);
    left -= count;
    return list.slice(0, count);
  };
}
