// A source cluster's slices as an importing cluster has them: one for one, so that a change there is one write here.
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import type { Merged } from '../merge/merged.ts';
import type { ExportRecord, Shape } from '../record.ts';
import { importNameLabels, managedBy } from './marks.ts';
import type { Memory } from './memory.ts';
import type { MirrorRule } from './mirror.ts';
import { mirrorOf } from './mirror.ts';

/** The shapes whose imports exist in the member, with the reference to each (MCS-66, MCS-67). */
export type Owners = { readonly [shape in Shape]?: OwnerReference };

export interface SliceOptions {
  readonly owners: Owners;
  /** The Service that a stock proxy serves the import through; undefined: there is none. */
  readonly derivedName?: string | undefined;
  /** Whether the member's server keeps `srvServiceName`. */
  readonly keepsSrvNames: boolean;
  /** Clusters whose slices are not written. */
  readonly except: ReadonlySet<string>;
  /** Clusters that do not answer now. */
  readonly silent: ReadonlySet<string>;
  readonly memory: Memory;
}

/** The slices that a member is to have, by name. A cluster has slices in it for as long as some view shows it. */
export function mirroredSlices(merged: Merged, options: SliceOptions): readonly EndpointSlice[] {
  return merged.exporters
    .filter(({ cluster, verdict }) => verdict.state === 'valid' && !options.except.has(cluster))
    .flatMap(({ record }) => {
      const shown = shapesThatShow(merged, record.cluster, options.owners);
      return shown.length === 0 ? [] : mirrorsOf(record, ruleFor({ merged, record, shown }, options), options.memory);
    })
    .toSorted((left, right) => ((left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1));
}

function mirrorsOf({ slices }: ExportRecord, rule: MirrorRule, memory: Memory): readonly EndpointSlice[] {
  const text = JSON.stringify(rule);
  return slices.flatMap((slice) => memory.mirror(slice, text, () => mirrorOf(slice, rule)) ?? []);
}

const shapes = ['seed', 'current'] as const;

const shapesThatShow = ({ views }: Merged, cluster: string, owners: Owners): readonly Shape[] =>
  shapes.filter(
    (shape) =>
      owners[shape] !== undefined && views[shape]?.clusters.some((settings) => settings.cluster === cluster) === true,
  );

interface Source {
  readonly merged: Merged;
  readonly record: ExportRecord;
  readonly shown: readonly Shape[];
}

function ruleFor({ merged, record, shown }: Source, options: SliceOptions): MirrorRule {
  const { owners, derivedName, keepsSrvNames, silent } = options;
  const { cluster, namespace, name, region, service, onLoss = 'Remove' } = record;
  return {
    cluster,
    namespace,
    name,
    region,
    onLoss,
    // For others a silence changes nothing, and costs nothing.
    isSilent: onLoss === 'Demote' && silent.has(cluster),
    labels: {
      [managedByLabel]: managedBy,
      [sourceClusterLabel]: cluster,
      ...Object.fromEntries(shown.map((shape) => [importNameLabels[shape], name])),
      // Never the name of the Service itself: the Service of this cluster would get endpoints of others (MCS-7, MCS-53).
      ...(derivedName === undefined ? {} : { [serviceNameLabel]: derivedName }),
    },
    owners: shown.flatMap((shape) => owners[shape] ?? []),
    ports: routedPorts({ merged, record, shown }),
    keepsSrvNames,
    publishesAll: service?.spec.publishNotReadyAddresses === true,
    keepsZones: service?.spec.trafficDistribution !== undefined,
  };
}

/** Names of ports that are this cluster's in a view that shows it. */
function routedPorts({ merged, record: { cluster, service }, shown }: Source): readonly string[] | undefined {
  // A Service without ports is headless, and its slices say what ports there are, if any.
  if ((service?.spec.ports ?? []).length === 0) return undefined;
  const ports = shown.flatMap((shape) => merged.views[shape]?.ports ?? []);
  return [...new Set(ports.filter(({ clusters }) => clusters.includes(cluster)).map(({ name }) => name))].toSorted();
}
