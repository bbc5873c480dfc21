// Plans the EndpointSlices of one Service.
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
import { byName } from '../../api/order.ts';
import { hasManagedEndpoints, selectedPods } from '../backend.ts';
import { isOwnedBy, namePrefix, newSlice, ownedBy, portsKey, recycle, sameMap } from '../slices.ts';
import type { SliceWrites } from '../slices.ts';
import type { PlannedEvent } from '../../client/event-correlator.ts';
import type { PortGroup } from '../target-ports.ts';
import { portGroups } from '../target-ports.ts';
import { backendsOf } from './backends.ts';
import { distributionHints, hintRule, withHints } from './hints.ts';
import type { Draft } from './pack.ts';
import { pack } from './pack.ts';
import { topologyHints } from './topology.ts';

/** The managed-by label of the slices that this controller owns. */
export const managedBy = 'endpointslice-controller.k8s.io';

/** The input of a plan. Unrelated Pods, nodes and slices are ignored. */
export interface Observed {
  /** undefined: it does not exist, and the garbage collector deletes its slices. */
  readonly service: Service | undefined;
  readonly pods: readonly Pod[];
  /** Node name → node. */
  readonly nodes: ReadonlyMap<string, Node>;
  readonly slices: readonly EndpointSlice[];
  readonly gates: Gates;
  /** The value of the trigger time annotation; see trigger-time.ts. */
  readonly triggerTime?: string | undefined;
  /** Maximum endpoints per slice, 1 to 1000; default 100. */
  readonly maxEndpointsPerSlice?: number;
}

/** Empty if the slices are up to date. */
export interface Plan extends SliceWrites {
  readonly events: readonly PlannedEvent[];
  /** Nodes of Pods that do not exist (yet). These Pods are not published. */
  readonly missingNodes: readonly string[];
}

const nothing: Plan = { create: [], update: [], remove: [], events: [], missingNodes: [] };

/** Plans the slices of one Service. */
export function plan(observed: Observed): Plan {
  const { service, gates } = observed;
  // Slices of a Service that lost its selector or became an ExternalName stay: the user may manage them now.
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
    // New slices could outlive a Service that is being deleted.
    create: service.metadata.deletionTimestamp === undefined ? create : [],
    update: plans.flatMap((each) => each.update),
    remove: [...foreignFamily, ...plans.flatMap((each) => each.remove)],
    events: plans.flatMap((each) => each.events),
    missingNodes,
  };
}

/** Excludes Pods on missing nodes, which will be deleted, unless publishNotReadyAddresses is set. */
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

/** The families of a Service. Without `ipFamilies`: that of its address, or both if it is headless. */
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

/** The single empty slice of a Service without endpoints. */
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
  const { drafts: hinted, disabled } = topologyHints(drafts, nodes.values());
  const about = `addressType: ${family}`;
  if (disabled !== undefined) {
    const event = { type: 'Warning', reason: 'TopologyAwareHintsDisabled', message: `${disabled}, ${about}` } as const;
    return { drafts: hinted, events: [event] };
  }
  const hadHints = drafts.some(({ slice }) => slice.endpoints?.some(({ hints }) => hints !== undefined));
  const message = `Topology Aware Hints has been enabled, ${about}`;
  return {
    drafts: hinted,
    events: hadHints ? [] : [{ type: 'Normal', reason: 'TopologyAwareHintsEnabled', message }],
  };
}

/** The metadata of a new slice, with the labels of the Service but not its annotations. */
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

/** The slice to write: the slice that was read, with the desired labels, annotations and endpoints. */
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
