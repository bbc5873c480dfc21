// Mirrors the slices of source clusters one to one, so that the change of a slice is one write in each importing cluster.
import { managedByLabel, serviceNameLabel } from '../../api/kinds/discovery/endpointslice/labels.ts';
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { AudienceMember } from '../../api/kinds/multicluster/audience.ts';
import type { OwnerReference } from '../../api/metadata.ts';
import { sourceClusterLabel } from '../../api/kinds/multicluster/labels.ts';
import { byName } from '../../api/order.ts';
import type { Merged } from '../merge/merged.ts';
import type { ClusterExport, McsApi } from '../record.ts';
import { mcsApis, slicesFor } from '../record.ts';
import { replacedClusters } from './drain.ts';
import type { LocalGateway } from '../vip/gateway-ports.ts';
import { exportAnnotations, gatewayRule, isByGateway } from './gateway.ts';
import { importNameLabels, managedBy } from './labels.ts';
import type { MirrorCache, MirrorRule } from './mirror.ts';
import { mirrorOf } from './mirror.ts';

/** References to the existing imports of each API in the member (MCS-66, MCS-67). */
export type Owners = { readonly [api in McsApi]?: OwnerReference };

export interface SliceOptions {
  /** The importing cluster. */
  readonly importer: string;
  readonly owners: Owners;
  /** The derived Service for a stock proxy; undefined: none. */
  readonly derivedName?: string | undefined;
  /** The member's server stores `srvServiceName`. */
  readonly keepsSrvNames: boolean;
  /** Clusters whose slices are not written. */
  readonly except: ReadonlySet<string>;
  /** Clusters that do not answer. */
  readonly silent: ReadonlySet<string>;
  /** Clusters that drain. */
  readonly draining: ReadonlySet<string>;
  readonly mirrors: MirrorCache;
  /** The gateway of the importing cluster; undefined: it has none. */
  readonly gateway?: LocalGateway | undefined;
  /** The members of the set, for audiences. */
  readonly members: readonly AudienceMember[];
}

/** The desired slices of a member, by name: those of all clusters that are in a view. */
export function mirroredSlices(merged: Merged, options: SliceOptions): readonly EndpointSlice[] {
  const { importer, except, owners, draining, silent, mirrors } = options;
  const contributions = merged.exporters
    .filter(({ cluster, verdict }) => verdict.state === 'valid' && !except.has(cluster))
    .flatMap(({ cluster, record }) => {
      const shown = apisThatShow(merged, cluster, owners);
      if (shown.length === 0) return [];
      const rule = ruleFor({ merged, record, shown }, options);
      const slices = slicesFor(importer, record);
      if (!isByGateway(importer, record)) return [{ cluster, slices, rule }];
      // All of them lead to the same gateways of the importing cluster.
      return rule.gateway === undefined ? [] : [{ cluster, slices: slices.slice(0, 1), rule }];
    });
  const replaced =
    draining.size === 0 ? draining : replacedClusters(merged, contributions, { draining, unavailable: silent });
  return contributions
    .flatMap(({ cluster, slices, rule }) =>
      mirrorsOf(slices, replaced.has(cluster) ? { ...rule, isLastResort: true } : rule, mirrors),
    )
    .toSorted(byName);
}

function mirrorsOf(slices: readonly EndpointSlice[], rule: MirrorRule, mirrors: MirrorCache): readonly EndpointSlice[] {
  const text = JSON.stringify(rule);
  return slices.flatMap((slice) => mirrors.mirror(slice, text, () => mirrorOf(slice, rule)) ?? []);
}

const apisThatShow = ({ views }: Merged, cluster: string, owners: Owners): readonly McsApi[] =>
  mcsApis.filter(
    (api) =>
      owners[api] !== undefined && views[api]?.clusters.some((settings) => settings.cluster === cluster) === true,
  );

interface Source {
  readonly merged: Merged;
  readonly record: ClusterExport;
  readonly shown: readonly McsApi[];
}

function ruleFor({ merged, record, shown }: Source, options: SliceOptions): MirrorRule {
  const { owners, derivedName, keepsSrvNames, silent, importer, gateway, members } = options;
  const { cluster, namespace, name, region, service, onLoss = 'Remove' } = record;
  return {
    cluster,
    namespace,
    name,
    region,
    onLoss,
    // Only Demote depends on a silent cluster; others must not be recomputed.
    isLastResort: onLoss === 'Demote' && silent.has(cluster),
    labels: {
      [managedByLabel]: managedBy,
      [sourceClusterLabel]: cluster,
      ...Object.fromEntries(shown.map((api) => [importNameLabels[api], name])),
      // Never the exported name: the Service of this cluster would get endpoints of others (MCS-7, MCS-53).
      ...(derivedName === undefined ? {} : { [serviceNameLabel]: derivedName }),
    },
    owners: shown.flatMap((api) => owners[api] ?? []),
    ports: routedPorts({ merged, record, shown }),
    keepsSrvNames,
    publishesAll: service?.spec.publishNotReadyAddresses === true,
    keepsZones: service?.spec.trafficDistribution !== undefined,
    ...(isByGateway(importer, record) && gateway !== undefined ? { gateway: gatewayRule(record, gateway) } : {}),
    ...(cluster === importer ? { annotations: exportAnnotations(record, members) } : {}),
  };
}

/** Names of the ports of this cluster in the views that contain it. */
function routedPorts({ merged, record: { cluster, service }, shown }: Source): readonly string[] | undefined {
  // A Service without ports is headless; its slices have the ports.
  if ((service?.spec.ports ?? []).length === 0) return undefined;
  const ports = shown.flatMap((api) => merged.views[api]?.ports ?? []);
  return [...new Set(ports.filter(({ clusters }) => clusters.includes(cluster)).map(({ name }) => name))].toSorted();
}
