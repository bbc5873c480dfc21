// What a member is to hold, and what it holds → the writes between the two; none in the steady state.
import { isDeepStrictEqual } from 'node:util';
import { endpointSliceKind } from '../../api/kinds/discovery/endpointslice/kind.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { serviceImportKind } from '../../api/kinds/multicluster/serviceimport/kind.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import { importedServiceKind } from '../../api/kinds/multicluster/supercluster/import.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { isDeleting } from '../record.ts';
import type { Changes } from './changes.ts';
import { diffObject, hasMetadata, noChanges, obstacle, removal, withMetadata } from './changes.ts';
import { diffDerived } from './derived-diff.ts';
import type { Actual, Desired, DiffOptions, Difference, ImportStatus, Obstacle, Write } from './desired.ts';
import { isOurSlice } from './marks.ts';
import { Memory } from './memory.ts';
import { stated } from './statement.ts';

/**
 * The writes that make a member hold what it is to hold. Slices that are
 * gone are removed after new ones are there, so that an endpoint that moved is never in none (sheet 5.3).
 */
export function diff(desired: Desired, actual: Actual, { now, memory = new Memory() }: DiffOptions): Difference {
  const seed = diffObject(importedServiceKind, desired.importedService, actual.importedService);
  const current = diffImport(desired.serviceImport, actual.serviceImport, { status: desired.importStatus, now });
  const derived = diffDerived(desired.derivedService, actual.derivedService);
  const slices =
    desired.slices === 'later' ? noChanges : diffSlices(desired.slices, actual.slices, { ...desired, memory });
  const objects = [...derived.add, ...seed.add, ...current.add];
  return {
    writes: [...objects, ...slices.add, ...slices.remove, ...seed.remove, ...current.remove, ...derived.remove],
    obstacles: [derived, seed, current, slices].flatMap(({ obstacles }) => obstacles),
    // Uids, addresses and revisions that the next step needs come back from these.
    isPartial: objects.some(({ verb }) => verb === 'create' || verb === 'update' || verb === 'delete'),
  };
}

function diffImport(
  desired: ServiceImport | undefined,
  actual: ServiceImport | undefined,
  { status, now }: { readonly status: ImportStatus | undefined; readonly now: string },
): Changes {
  const changes = diffObject(serviceImportKind, desired, actual);
  const isSettled = changes.add.length === 0 && changes.obstacles.length === 0;
  if (desired === undefined || actual === undefined || status === undefined || !isSettled) return changes;
  const { conditions = [], ...before } = actual.status ?? {};
  const { conditions: statements = [], ...wanted } = status;
  const changed = stated(statements, conditions, now);
  if (isDeleting(actual) || (changed === undefined && isDeepStrictEqual(before, wanted))) return changes;
  const object: ServiceImport = { ...actual, status: { ...wanted, conditions: changed ?? conditions } };
  return { ...changes, add: [{ verb: 'updateStatus', kind: serviceImportKind, object }] };
}

function diffSlices(
  desired: readonly EndpointSlice[],
  actual: readonly EndpointSlice[],
  { untouchedClusters, memory }: Pick<Desired, 'untouchedClusters'> & { readonly memory: Memory },
): Changes {
  const byName = new Map(actual.map((slice) => [slice.metadata.name, slice]));
  const wanted = new Set(desired.map(({ metadata }) => metadata.name));
  const create: Write[] = [];
  const update: Write[] = [];
  const obstacles: Obstacle[] = [];
  for (const slice of desired) {
    const before = byName.get(slice.metadata.name);
    if (before === undefined) create.push({ verb: 'create', kind: endpointSliceKind, object: slice });
    else if (!isOurSlice(before)) obstacles.push(obstacle(endpointSliceKind, before));
    else if (!isDeleting(before) && !memory.isSame(before, slice, () => isSameSlice(before, slice))) {
      const object = { ...slice, metadata: withMetadata(before, slice) };
      update.push({ verb: 'update', kind: endpointSliceKind, object });
    }
  }
  const remove = actual
    .filter((slice) => isOurSlice(slice) && !wanted.has(slice.metadata.name))
    .filter(({ metadata }) => !untouchedClusters.has(metadata.labels?.[sourceClusterLabel] ?? ''))
    .flatMap((slice) => removal(endpointSliceKind, slice));
  return { add: [...create, ...update], remove, obstacles };
}

const isSameSlice = (actual: EndpointSlice, desired: EndpointSlice): boolean =>
  hasMetadata(actual, desired) &&
  isDeepStrictEqual(actual.endpoints ?? [], desired.endpoints ?? []) &&
  isDeepStrictEqual(actual.ports ?? [], desired.ports ?? []);
