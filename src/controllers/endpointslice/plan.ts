// What should be written for one Service: the slices that hold its endpoints.
import { hasClusterIp, isHeadless } from '../../api/kinds/core/service/facts.ts';
import type { Gates } from '../../api/gates.ts';
import { familyOf } from '../../api/addresses.ts';
import type { Node } from '../../api/kinds/core/node/schema.ts';
import type { Pod } from '../../api/kinds/core/pod/schema.ts';
import type { IpFamily, Service } from '../../api/kinds/core/service/schema.ts';
import {
  headlessLabel,
  managedByLabel,
  serviceNameLabel,
  triggerTimeAnnotation,
} from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ObjectMeta } from '../../api/metadata.ts';
import { hasManagedEndpoints, selectedPods } from '../backend.ts';
import { sameMap } from '../same-map.ts';
import type { SliceWrites } from '../slices.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import { byName, isOwnedBy, namePrefix, newSlice, ownedBy, portsKey, recycle } from '../slices.ts';
import type { PortGroup } from '../target-ports.ts';
import { portGroups } from '../target-ports.ts';
import { backendsOf } from './backends.ts';
import { distributionHints, hintRule, withHints } from './hints.ts';
import type { Draft } from './pack.ts';
import { pack } from './pack.ts';
import { topologyHints } from './topology.ts';

/** The value of the managed-by label on the slices that this controller writes; it touches no others. */
export const managedBy = 'endpointslice-controller.k8s.io';

/** Everything a plan depends on. Pods, nodes and slices that have nothing to do with the Service are ignored. */
export interface Observed {
  /** undefined: it is gone. Its slices are then collected as its dependents. */
  readonly service: Service | undefined;
  readonly pods: readonly Pod[];
  /** Node name → node. */
  readonly nodes: ReadonlyMap<string, Node>;
  readonly slices: readonly EndpointSlice[];
  /** A loop whose server drops `srvServiceName` passes its gate as off; see `dropsSrvName`. */
  readonly gates: Gates;
  /** When the change happened that is being answered, for the annotation on what is written; see trigger-time.ts. */
  readonly triggerTime?: string | undefined;
  /** How many endpoints a slice may hold, 1 to 1000; 100 by default. */
  readonly maxEndpointsPerSlice?: number;
}

/** The writes that make the slices of one Service right; all empty when they already are. */
export interface Plan extends SliceWrites {
  readonly events: readonly PlannedEvent[];
  /** Nodes that Pods are on and that do not exist (yet): these Pods are left out, and the plan is worth a retry. */
  readonly missingNodes: readonly string[];
}

const nothing: Plan = { create: [], update: [], remove: [], events: [], missingNodes: [] };

/** Plans the slices of one Service. */
export function plan(observed: Observed): Plan {
  const { service, gates } = observed;
  // Slices of a Service that lost its selector or became an ExternalName stay: they may be somebody's now.
  if (service === undefined || !hasManagedEndpoints(service)) return nothing;
  const { pods, missingNodes } = podsOnNodes(service, observed);
  const groups = portGroups(service, pods, gates);
  const own = ownSlices(service, observed.slices);
  const families = familiesOf(service);
  const plans = families.map((family) =>
    planFamily({ ...observed, service, family, groups, slices: own.filter((slice) => slice.addressType === family) }),
  );
  const foreignFamily = own.filter(({ addressType }) => addressType === 'FQDN' || !families.includes(addressType));
  const create = plans.flatMap((each) => each.create);
  return {
    // New slices would outlive a Service that is being deleted, if only for a moment.
    create: service.metadata.deletionTimestamp === undefined ? create : [],
    update: plans.flatMap((each) => each.update),
    remove: [...foreignFamily, ...plans.flatMap((each) => each.remove)],
    events: plans.flatMap((each) => each.events),
    missingNodes,
  };
}

/** Pods on a node that does not exist are about to go, unless the Service wants all there are. */
function podsOnNodes(
  service: Service,
  { pods, nodes }: Observed,
): { readonly pods: readonly Pod[]; readonly missingNodes: readonly string[] } {
  const selected = selectedPods(service, pods);
  if (service.spec.publishNotReadyAddresses) return { pods: selected, missingNodes: [] };
  const missing = new Set<string>();
  for (const { spec } of selected) if (spec.nodeName && !nodes.has(spec.nodeName)) missing.add(spec.nodeName);
  if (missing.size === 0) return { pods: selected, missingNodes: [] };
  return { pods: selected.filter(({ spec }) => !missing.has(spec.nodeName ?? '')), missingNodes: [...missing].sort() };
}

function ownSlices({ metadata: { namespace, name } }: Service, slices: readonly EndpointSlice[]): EndpointSlice[] {
  return slices
    .filter(
      ({ metadata }) =>
        metadata.namespace === namespace &&
        metadata.labels?.[serviceNameLabel] === name &&
        metadata.labels?.[managedByLabel] === managedBy &&
        metadata.deletionTimestamp === undefined,
    )
    .sort(byName);
}

/** The families of a Service; one written before families existed has that of its address, or both if headless. */
function familiesOf(service: Service): readonly IpFamily[] {
  const { ipFamilies = [], clusterIP = '' } = service.spec;
  if (ipFamilies.length > 0) return ipFamilies;
  return isHeadless(service) ? ['IPv4', 'IPv6'] : [familyOf(clusterIP) ?? 'IPv4'];
}

interface FamilyInput extends Observed {
  readonly service: Service;
  readonly family: IpFamily;
  readonly groups: readonly PortGroup[];
}

type FamilyPlan = Omit<Plan, 'missingNodes'>;

function planFamily(input: FamilyInput): FamilyPlan {
  const { service, family, groups, slices, triggerTime, maxEndpointsPerSlice: max = 100 } = input;
  const metadata = metadataFor(service);
  const owner = ownedBy('Service', service.metadata);
  const { yes: owned = [], no: foreign = [] } = Object.groupBy(slices, (slice) =>
    isOwnedBy(slice, owner) ? 'yes' : 'no',
  );
  const byPorts = Map.groupBy(owned, ({ ports }) => portsKey(ports));
  const drafts: Draft[] = [];
  const remove = [...foreign];
  for (const { ports, pods } of groups) {
    const backends = backendsOf(service, pods, input);
    if (backends.size === 0) continue;
    const key = portsKey(ports);
    const packed = pack(byPorts.get(key) ?? [], backends, { fresh: newSlice(metadata, family, ports), max });
    byPorts.delete(key);
    drafts.push(...packed.drafts);
    remove.push(...packed.emptied);
  }
  remove.push(...[...byPorts.values()].flat());
  if (drafts.length === 0) return placeholder({ family, metadata, remove, triggerTime, service });
  const { drafts: hinted, events } = hint(drafts, input);
  const written = hinted.map((draft) => ({ state: draft.state, slice: writtenSlice(draft, metadata, triggerTime) }));
  const writes = {
    create: written.filter(({ state }) => state === 'new').map(({ slice }) => slice),
    update: written.filter(({ state }) => state === 'changed').map(({ slice }) => slice),
    remove,
  };
  return { ...recycle(writes, owner), events };
}

/** One empty slice says that the controller has been here and found nothing. */
function placeholder({
  family,
  metadata,
  remove,
  triggerTime,
  service,
}: Pick<FamilyInput, 'family' | 'triggerTime' | 'service'> & {
  readonly metadata: ObjectMeta;
  readonly remove: readonly EndpointSlice[];
}): FamilyPlan {
  const owner = ownedBy('Service', service.metadata);
  const kept = remove.find(
    (slice) =>
      !slice.endpoints?.length &&
      !slice.ports?.length &&
      isOwnedBy(slice, owner) &&
      sameMap(slice.metadata.labels, metadata.labels),
  );
  if (kept !== undefined) return { ...nothing, remove: remove.filter((slice) => slice !== kept) };
  const slice = newSlice(metadata, family, []);
  const create = [writtenSlice({ slice, endpoints: [], state: 'new' }, metadata, triggerTime)];
  return { ...recycle({ create, update: [], remove }, owner), events: [] };
}

function hint(
  drafts: readonly Draft[],
  { service, gates, nodes, family }: FamilyInput,
): { readonly drafts: readonly Draft[]; readonly events: readonly PlannedEvent[] } {
  const rule = hintRule(service, gates);
  if (rule !== 'topology') {
    return { drafts: withHints(drafts, (endpoint) => distributionHints(endpoint, rule)), events: [] };
  }
  const { drafts: hinted, refused } = topologyHints(drafts, nodes.values());
  const about = `addressType: ${family}`;
  if (refused !== undefined) {
    const event = { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message: `${refused}, ${about}` } as const;
    return { drafts: hinted, events: [event] };
  }
  const hadHints = drafts.some(({ slice }) => slice.endpoints?.some(({ hints }) => hints !== undefined));
  const message = `Topology Aware Hints has been enabled, ${about}`;
  return {
    drafts: hinted,
    events: hadHints ? [] : [{ type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }],
  };
}

/** The metadata of a new slice. Labels of the Service are copied, its annotations are not. */
function metadataFor(service: Service): ObjectMeta {
  const { name = '', namespace = '', labels = {} } = service.metadata;
  const { [serviceNameLabel]: _name, [managedByLabel]: _manager, [headlessLabel]: _headless, ...copied } = labels;
  return {
    generateName: namePrefix(name),
    namespace,
    labels: {
      ...copied,
      [serviceNameLabel]: name,
      [managedByLabel]: managedBy,
      ...(hasClusterIp(service) ? {} : { [headlessLabel]: '' }),
    },
    ownerReferences: [ownedBy('Service', service.metadata)],
  };
}

/** What is sent: what was read, with what is wanted in its place. */
function writtenSlice({ slice, endpoints, state }: Draft, wanted: ObjectMeta, time: string | undefined): EndpointSlice {
  if (state === 'unchanged') return slice;
  const { annotations, ...metadata } = slice.metadata;
  const { [triggerTimeAnnotation]: _, ...kept } = annotations ?? {};
  const all = time === undefined ? kept : { ...kept, [triggerTimeAnnotation]: time };
  return {
    ...slice,
    metadata: {
      ...metadata,
      ...(wanted.labels === undefined ? {} : { labels: wanted.labels }),
      ...(Object.keys(all).length === 0 ? {} : { annotations: all }),
    },
    endpoints,
  };
}
