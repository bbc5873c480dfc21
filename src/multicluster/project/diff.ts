// Computes the writes from the actual to the desired objects of a member; none in the steady state.
import { isDeepStrictEqual } from 'node:util';
import { serviceKind } from '../../api/kinds/core/service/kind.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { isDeleting } from '../record.ts';
import type { Changes } from './changes.ts';
import { diffObject, hasMetadata, noChanges, foreignObject, removal, withMetadata } from './changes.ts';
import type { Actual, Desired, DiffOptions, Difference, ImportStatus, ForeignObject, Write } from './desired.ts';
import { isOurs, isOurSlice } from './labels.ts';
import { MirrorCache } from './mirror.ts';
import { withConditions } from './conditions.ts';

/**
 * The writes to a member. Slices are deleted after new ones were written, so that an endpoint that moves between slices is
 * always in one.
 */
export function diff(desired: Desired, actual: Actual, { now, mirrors = new MirrorCache() }: DiffOptions): Difference {
  const supercluster = diffObject(importedServiceKind, desired.importedService, actual.importedService);
  const clusterset = diffImport(desired.serviceImport, actual.serviceImport, { status: desired.importStatus, now });
  const derived = diffDerived(desired.derivedService, actual.derivedService);
  const slices =
    desired.slices === 'later' ? noChanges : diffSlices(desired.slices, actual.slices, { ...desired, mirrors });
  const objects = [...derived.add, ...supercluster.add, ...clusterset.add];
  return {
    writes: [
      ...objects,
      ...slices.add,
      ...slices.remove,
      ...supercluster.remove,
      ...clusterset.remove,
      ...derived.remove,
    ],
    foreignObjects: [derived, supercluster, clusterset, slices].flatMap(({ foreignObjects }) => foreignObjects),
    // The next step needs UIDs, addresses and revisions from the responses.
    isPartial: objects.some(({ verb }) => verb === 'create' || verb === 'update' || verb === 'delete'),
  };
}

function diffImport(
  desired: ServiceImport | undefined,
  actual: ServiceImport | undefined,
  { status, now }: { readonly status: ImportStatus | undefined; readonly now: string },
): Changes {
  const changes = diffObject(serviceImportKind, desired, actual);
  const isSettled = changes.add.length === 0 && changes.foreignObjects.length === 0;
  if (desired === undefined || actual === undefined || status === undefined || !isSettled) return changes;
  const { conditions = [], ...before } = actual.status ?? {};
  const { conditions: planned = [], ...wanted } = status;
  const changed = withConditions(planned, conditions, now);
  if (isDeleting(actual) || (changed === undefined && isDeepStrictEqual(before, wanted))) return changes;
  const object: ServiceImport = { ...actual, status: { ...wanted, conditions: changed ?? conditions } };
  return { ...changes, add: [{ verb: 'updateStatus', kind: serviceImportKind, object }] };
}

function diffSlices(
  desired: readonly EndpointSlice[],
  actual: readonly EndpointSlice[],
  { untouchedClusters, mirrors }: Pick<Desired, 'untouchedClusters'> & { readonly mirrors: MirrorCache },
): Changes {
  const byName = new Map(actual.map((slice) => [slice.metadata.name, slice]));
  const wanted = new Set(desired.map(({ metadata }) => metadata.name));
  const create: Write[] = [];
  const update: Write[] = [];
  const foreignObjects: ForeignObject[] = [];
  for (const slice of desired) {
    const before = byName.get(slice.metadata.name);
    if (before === undefined) create.push({ verb: 'create', kind: endpointSliceKind, object: slice });
    else if (!isOurSlice(before)) foreignObjects.push(foreignObject(endpointSliceKind, before));
    else if (!isDeleting(before) && !mirrors.isSame(before, slice, () => isSameSlice(before, slice))) {
      const object = { ...slice, metadata: withMetadata(before, slice) };
      update.push({ verb: 'update', kind: endpointSliceKind, object });
    }
  }
  const remove = actual
    .filter((slice) => isOurSlice(slice) && !wanted.has(slice.metadata.name))
    .filter(({ metadata }) => !untouchedClusters.has(metadata.labels?.[sourceClusterLabel] ?? ''))
    .flatMap((slice) => removal(endpointSliceKind, slice));
  return { add: [...create, ...update], remove, foreignObjects };
}

const isSameSlice = (actual: EndpointSlice, desired: EndpointSlice): boolean =>
  hasMetadata(actual, desired) &&
  isDeepStrictEqual(actual.endpoints ?? [], desired.endpoints ?? []) &&
  isDeepStrictEqual(actual.ports ?? [], desired.ports ?? []);

/** Compares only the fields of a derived Service that this controller sets, because the server defaults others. */
function diffDerived(desired: Service | undefined, actual: Service | undefined): Changes {
  const isKept = desired !== undefined && actual !== undefined && isOurs(actual);
  // The first family of a Service is immutable: delete it and create another.
  if (isKept && desired.spec.ipFamilies?.[0] !== actual.spec.ipFamilies?.[0]) {
    return { ...noChanges, add: removal(serviceKind, actual) };
  }
  return diffObject(serviceKind, desired, actual, { isSame: isSameDerivedSpec, specFor: derivedSpec });
}

const portsOf = (ports: readonly ServicePort[] = []): unknown =>
  ports.map(({ name = '', protocol = 'TCP', port, appProtocol = '' }) => [name, protocol, port, appProtocol]);

function isSameDerivedSpec({ spec: actual }: Service, { spec: desired }: Service): boolean {
  const { ports, sessionAffinityConfig, sessionAffinity = 'None', ...fields } = desired;
  const hasAffinityConfig =
    sessionAffinityConfig === undefined || isDeepStrictEqual(actual.sessionAffinityConfig, sessionAffinityConfig);
  return (
    isDeepStrictEqual(portsOf(actual.ports), portsOf(ports)) &&
    (actual.sessionAffinity ?? 'None') === sessionAffinity &&
    hasAffinityConfig &&
    actual.selector === undefined &&
    (actual.internalTrafficPolicy ?? 'Cluster') === (fields.internalTrafficPolicy ?? 'Cluster') &&
    actual.trafficDistribution === fields.trafficDistribution &&
    actual.ipFamilyPolicy === fields.ipFamilyPolicy &&
    (actual.type ?? 'ClusterIP') === fields.type
  );
}

function derivedSpec({ spec: actual }: Service, { spec: desired }: Service): Service['spec'] {
  const { clusterIP, clusterIPs = [], ipFamilies = [] } = actual;
  const isSingle = desired.ipFamilyPolicy === 'SingleStack';
  // Keep the addresses; a single-stack Service releases the second one.
  const { ipFamilies: wanted = [], ...rest } = desired;
  return {
    ...rest,
    ...(clusterIP === undefined ? {} : { clusterIP }),
    clusterIPs: isSingle ? clusterIPs.slice(0, 1) : clusterIPs,
    ipFamilies: isSingle ? wanted : ipFamilies,
  };
}
