// A stand-in for the server of a member: it stores writes, and sets UIDs, revisions and addresses.
import type { Service } from '../../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../../api/kinds/discovery/endpointslice/schema.ts';
import type { ServiceImport } from '../../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ImportedService } from '../../../api/kinds/multicluster/supercluster/import.ts';
import type { ApiObject } from '../../../api/metadata.ts';
import type { Merged } from '../../merge/merged.ts';
import type { Actual, Desired, Difference, Target, Write } from '../desired.ts';
import { diff } from '../diff.ts';
import { project } from '../project.ts';

export const emptyMember: Actual = { slices: [] };

export const now = '2026-03-01T00:00:00Z';

let count = 0;

const stored = <T extends ApiObject>(object: T, before: ApiObject | undefined): T => ({
  ...object,
  metadata: {
    ...object.metadata,
    uid: before?.metadata.uid ?? `uid-${++count}`,
    resourceVersion: String(++count),
  },
});

/** A Service as the server stores it: with an address, and defaults in its ports. */
const allocated = (service: Service): Service => ({
  ...service,
  spec: {
    ...service.spec,
    clusterIP: service.spec.clusterIP ?? '10.96.7.7',
    clusterIPs: service.spec.clusterIPs ?? ['10.96.7.7'],
    ipFamilies: (service.spec.ipFamilies ?? ['IPv4']).slice(0, 1),
    internalTrafficPolicy: service.spec.internalTrafficPolicy ?? 'Cluster',
    sessionAffinity: service.spec.sessionAffinity ?? 'None',
    ports: (service.spec.ports ?? []).map((port) => ({ targetPort: port.port, ...port })),
  },
});

/** The objects after one write. */
function afterWrite(actual: Actual, write: Write): Actual {
  const { kind } = write.kind;
  const { verb } = write;
  // Casts where a stand-in decodes requests: the kind of a write determines the type of its object.
  if (kind === 'EndpointSlice') {
    const slice = write.object as EndpointSlice;
    const before = actual.slices.find(({ metadata }) => metadata.name === slice.metadata.name);
    if ((verb === 'create') !== (before === undefined))
      throw new Error(`${verb} of ${slice.metadata.name ?? ''} is refused`);
    const others = actual.slices.filter((each) => each !== before);
    return { ...actual, slices: verb === 'delete' ? others : [...others, stored(slice, before)] };
  }
  if (kind === 'Service') {
    const before = actual.derivedService;
    return {
      ...actual,
      derivedService: verb === 'delete' ? undefined : stored(allocated(write.object as Service), before),
    };
  }
  if (kind === 'ImportedService') {
    const before = actual.importedService;
    return {
      ...actual,
      importedService: verb === 'delete' ? undefined : stored(write.object as ImportedService, before),
    };
  }
  const before = actual.serviceImport;
  const object = write.object as ServiceImport;
  const status = verb === 'updateStatus' ? object.status : before?.status;
  const kept = { ...object, ...(status === undefined ? {} : { status }) };
  return { ...actual, serviceImport: verb === 'delete' ? undefined : stored(kept, before) };
}

export const afterWrites = (actual: Actual, writes: readonly Write[]): Actual => writes.reduce(afterWrite, actual);

export interface Settled {
  readonly actual: Actual;
  readonly desired: Desired;
  readonly last: Difference;
  /** All writes, in order. */
  readonly writes: readonly Write[];
}

/** Projects and writes until nothing depends on the last writes. */
export function settle(merged: Merged, target: Target): Settled {
  let { actual } = target;
  const writes: Write[] = [];
  for (let round = 0; round < 6; round++) {
    const desired = project(merged, { ...target, actual });
    const last = diff(desired, actual, { now, ...(target.mirrors && { mirrors: target.mirrors }) });
    actual = afterWrites(actual, last.writes);
    writes.push(...last.writes);
    if (!last.isPartial) return { actual, desired, last, writes };
  }
  throw new Error('does not settle');
}
