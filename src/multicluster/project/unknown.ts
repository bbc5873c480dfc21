// Keeps the contributions of clusters that have not been read yet in existing imports.
import { familiesOf } from '../../api/addresses.ts';
import { parsePublication, publicationAnnotation } from '../../api/kinds/multicluster/publication.ts';
import type { ImportedService } from '../../api/kinds/multicluster/supercluster/import.ts';
import type { ServiceImport } from '../../api/kinds/multicluster/serviceimport/schema.ts';
import type { ApiObject } from '../../api/metadata.ts';
import type { ClusterSettings, Merged, MergedPort, View } from '../merge/merged.ts';
import { areCompatible, isSamePort } from '../merge/ports.ts';
import { isOurs } from './labels.ts';
import type { Actual } from './desired.ts';

/**
 * Adds the contributions of unknown clusters from existing imports to a merged service: existing parts come first, compatible new
 * ones are added. Without unknown clusters it changes nothing.
 */
export function withUnknown(merged: Merged, actual: Actual, unknown: ReadonlySet<string>): Merged {
  if (unknown.size === 0) return merged;
  const { importedService, serviceImport } = actual;
  // A service that was withdrawn because of a conflict stays withdrawn.
  const isConflict = merged.order.length > 0 && merged.views.supercluster === undefined;
  const superclusterBefore =
    importedService && isOurs(importedService) && !isConflict ? importedServiceView(importedService) : undefined;
  const clustersetBefore = serviceImport && isOurs(serviceImport) ? serviceImportView(serviceImport) : undefined;
  return {
    ...merged,
    views: {
      supercluster: carriedOver(superclusterBefore, merged.views.supercluster, unknown),
      clusterset: carriedOver(clustersetBefore, merged.views.clusterset, unknown),
    },
  };
}

function carriedOver(before: View | undefined, now: View | undefined, unknown: ReadonlySet<string>): View | undefined {
  const kept = (before?.clusters ?? []).filter(({ cluster }) => unknown.has(cluster));
  if (before === undefined || kept.length === 0) return now;
  const names = kept.map(({ cluster }) => cluster);
  const ports = before.ports.map((port): MergedPort => {
    const same = now?.ports.find((other) => isSamePort(other, port));
    return { ...port, ...same, clusters: [...names, ...(same?.clusters ?? [])] };
  });
  const added = (now?.ports ?? []).filter((port) => before.ports.every((other) => areCompatible(other, port)));
  return {
    ...before,
    ports: [...ports, ...added.filter((port) => !ports.some((other) => isSamePort(other, port)))],
    clusters: [...inOrderOf(before.clusters, kept, now?.clusters ?? [])],
  };
}

/** Existing clusters in their order, then new ones. */
function inOrderOf(
  before: readonly ClusterSettings[],
  kept: readonly ClusterSettings[],
  now: readonly ClusterSettings[],
): readonly ClusterSettings[] {
  const settings = new Map([...kept, ...now].map((each) => [each.cluster, each]));
  const order = new Set([...before, ...now].map(({ cluster }) => cluster));
  return [...order].flatMap((cluster) => settings.get(cluster) ?? []);
}

const noMetadata = { labels: {}, annotations: {} };

function importedServiceView({ metadata, spec }: ImportedService): View {
  const { ports = [], clusters = [], ipFamily, ip } = spec ?? {};
  return {
    type: ip === undefined ? 'Headless' : 'ClusterSetIP',
    ports: ports.map(portIn),
    families: ipFamily === undefined ? [] : [ipFamily],
    clusters,
    ...noMetadata,
    publication: publicationIn(metadata),
  };
}

function serviceImportView({ metadata, spec, status }: ServiceImport): View {
  const { type = 'ClusterSetIP', ports = [], ips = [], ipFamilies = familiesOf(ips), ...rest } = spec ?? {};
  const { labels = {}, annotations = {} } = metadata;
  return {
    ...rest,
    type,
    ports: ports.map(portIn),
    families: ipFamilies,
    clusters: status?.clusters ?? [],
    labels,
    annotations,
    publication: publicationIn(metadata),
  };
}

function publicationIn({ annotations }: ApiObject['metadata']): View['publication'] {
  const text = annotations?.[publicationAnnotation];
  return text === undefined ? undefined : parsePublication(text);
}

const portIn = ({
  name = '',
  protocol = 'TCP',
  port,
  appProtocol,
}: Pick<Partial<MergedPort>, 'name' | 'protocol' | 'appProtocol'> & { readonly port: number }): MergedPort => ({
  name,
  protocol,
  port,
  ...(appProtocol === undefined ? {} : { appProtocol }),
  clusters: [],
});
