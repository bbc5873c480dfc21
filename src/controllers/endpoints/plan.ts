// What should be written for one Service: the Endpoints of its name. Slices are their successor; old clients read these.
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
import { sameMap } from '../same-map.ts';
import { repack, sameSubsets } from '../subsets.ts';
import type { TargetPort } from '../target-ports.ts';
import { portGroups } from '../target-ports.ts';
import { truncated } from './truncate.ts';

/** The label by which readers see that the Endpoints are kept by a controller, and its value. */
const managedByLabel = 'endpoints.kubernetes.io/managed-by';
/** See {@link managedByLabel}. */
const managedBy = 'endpoint-controller';
/** The annotation that says, with the value `truncated`, that there are more endpoints than the object holds. */
const overCapacityAnnotation = 'endpoints.kubernetes.io/over-capacity';

/** On Endpoints that serve as the lock of a leader election, in clients from before Leases. */
const leaderAnnotation = 'control-plane.alpha.kubernetes.io/leader';

/** Everything a plan depends on. */
export interface Observed {
  /** undefined: it is gone. */
  readonly service: Service | undefined;
  readonly pods: readonly Pod[];
  /** What is there under the name of the Service. */
  readonly endpoints: Endpoints | undefined;
  readonly gates: Gates;
  /** When the change happened that is being answered; see trigger-time.ts. */
  readonly triggerTime?: string | undefined;
}

/** The write that makes the Endpoints of one Service right: at most one, none when they already are. */
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

/** Endpoints have one family, the first of the Service. */
const primaryFamily = ({ spec: { ipFamilies = [], clusterIP = '' } }: Service): IpFamily =>
  ipFamilies[0] ?? familyOf(clusterIP) ?? 'IPv4';

function subsetsOf(service: Service, { pods, gates }: Observed): readonly EndpointSubset[] {
  const publishesAll = service.spec.publishNotReadyAddresses ?? false;
  const family = primaryFamily(service);
  const published = selectedPods(service, pods).filter((pod) => publishesAll || !isTerminating(pod));
  return portGroups(service, published, gates).flatMap((group) => {
    // A Pod that has none of the ports is in no subset, unless the Service asks for no port.
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
  // Kubernetes sends an empty name for a Pod on no node, and refuses it.
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

/** The time of the last change alone is no reason to write. */
function isCurrent(endpoints: Endpoints, wanted: Endpoints): boolean {
  const capacity = (of: Endpoints): string | undefined => of.metadata.annotations?.[overCapacityAnnotation];
  return (
    capacity(endpoints) === capacity(wanted) &&
    sameMap(endpoints.metadata.labels, wanted.metadata.labels) &&
    sameSubsets(endpoints.subsets ?? [], wanted.subsets ?? [])
  );
}
