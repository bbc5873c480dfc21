// The writes that make the objects of a Gateway what the plan has. Pure.

import type { Service } from '../../api/kinds/core/service/schema.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { allocationAnnotations } from '../providers/local/allocation-request.ts';

/** The Service with what the plan determines; the same object if nothing changes. */
export function revisedService(current: Service, wanted: Service): Service {
  const kept = Object.fromEntries(
    Object.entries(current.metadata.annotations ?? {}).filter(
      ([name]) => name !== allocationAnnotations.addresses && name !== allocationAnnotations.sharingKey,
    ),
  );
  const metadata = {
    ...current.metadata,
    labels: { ...current.metadata.labels, ...wanted.metadata.labels },
    annotations: { ...kept, ...wanted.metadata.annotations },
  };
  const ports = (wanted.spec.ports ?? []).map((port) => {
    const old = (current.spec.ports ?? []).find((each) => each.port === port.port && each.protocol === port.protocol);
    return { ...old, ...port };
  });
  const isSame =
    equalJson(current.metadata.labels ?? {}, metadata.labels) &&
    equalJson(current.metadata.annotations ?? {}, metadata.annotations) &&
    equalJson(current.spec.ports ?? [], ports) &&
    current.spec.type === wanted.spec.type;
  return isSame ? current : { ...current, metadata, spec: { ...current.spec, ports, type: 'LoadBalancer' } };
}

/** Writes of slices. */
export interface SliceChanges {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/** The writes that replace the current slices by the wanted ones. */
export function sliceChanges(current: readonly EndpointSlice[], wanted: readonly EndpointSlice[]): SliceChanges {
  const byName = new Map(current.map((slice) => [slice.metadata.name, slice]));
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  for (const slice of wanted) {
    const old = byName.get(slice.metadata.name);
    byName.delete(slice.metadata.name);
    if (old === undefined) create.push(slice);
    else if (!isSame(old, slice)) {
      const { labels = {}, annotations = {} } = slice.metadata;
      update.push({ ...old, ...slice, metadata: { ...old.metadata, labels, annotations } });
    }
  }
  return { create, update, remove: [...byName.values()] };
}

const isSame = (old: EndpointSlice, slice: EndpointSlice): boolean =>
  equalJson(old.endpoints, slice.endpoints) &&
  equalJson(old.ports, slice.ports) &&
  equalJson(old.metadata.labels, slice.metadata.labels) &&
  equalJson(old.metadata.annotations, slice.metadata.annotations);
