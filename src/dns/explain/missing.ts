// Explains why a name of the cluster does not exist, from the objects that could produce it.
import { isReady } from '../../api/kinds/discovery/endpointslice/facts.ts';
import type { Service, ServicePort } from '../../api/kinds/core/service/schema.ts';
import { matchesLabels } from '../../api/selectors/labels.ts';
import type { ZoneUpdaterOptions } from '../controller/zone-updater.ts';
import type { Caches } from '../controller/caches.ts';
import { sourceOf } from '../controller/caches.ts';
import type { Name } from '../../dnswire/data.ts';
import { reachOf } from '../records/service.ts';
import { isWithin, labelsOf } from '../../dnswire/name.ts';

/** The objects and options of the cluster. */
export interface Cluster {
  readonly caches: Caches;
  readonly options: ZoneUpdaterOptions;
}

/** Reasons why a name is missing; empty if it has none of the known forms. */
export function whyMissing(name: Name, cluster: Cluster): readonly string[] {
  const { clusterDomain, clustersetDomain, superclusterDomain, pods = 'disabled' } = cluster.options;
  const inZone = (zone: Name | undefined): readonly string[] | undefined => labelsAbove(name, zone && `svc.${zone}`);
  const service = inZone(clusterDomain);
  if (service !== undefined) return whyNoService(service, cluster);
  const imported = inZone(clustersetDomain);
  if (imported !== undefined) return whyNoImport(imported, cluster, 'ServiceImport');
  const supercluster = inZone(superclusterDomain);
  if (supercluster !== undefined) return whyNoImport(supercluster, cluster, 'ImportedService');
  const pod = labelsAbove(name, `pod.${clusterDomain}`);
  return pod === undefined ? [] : whyNoPod(pod, pods, cluster);
}

/** The labels of a name above a suffix, in reverse: namespace, then name, then the labels below. */
function labelsAbove(name: Name, suffix: Name | undefined): readonly string[] | undefined {
  if (suffix === undefined || !isWithin(name, suffix) || name === suffix) return undefined;
  return labelsOf(name).slice(0, -labelsOf(suffix).length).toReversed();
}

function whyNoNamespace(namespace: string, { caches, options }: Cluster): string | undefined {
  const object = caches.namespaces.get(namespace);
  if (object === undefined) return `Namespace "${namespace}" does not exist`;
  const isNamed = options.namespaces?.has(namespace) !== false;
  const isSelected = isNamed && matchesLabels(options.namespaceLabels ?? [], object.metadata.labels);
  return isSelected ? undefined : `Namespace "${namespace}" exists, but is not published (--namespaces)`;
}

function whyNoService([namespace = '', name, ...below]: readonly string[], cluster: Cluster): readonly string[] {
  const missing = whyNoNamespace(namespace, cluster);
  if (missing !== undefined || name === undefined) return missing === undefined ? [] : [missing];
  const key = `${namespace}/${name}`;
  const service = cluster.caches.services.get(key);
  if (service === undefined) return [`Service "${key}" does not exist`];
  if (reachOf(service) === 'alias') return [whyNoAlias(key, service, below)];
  const hidden = whyHidden(key, service, cluster);
  if (hidden !== undefined) return [hidden];
  const [first, second] = below;
  if (first === undefined) return [];
  if (first.startsWith('_')) return [whyNoPort(key, service, { protocol: first.slice(1), label: second?.slice(1) })];
  return [`Service "${key}" has no ready endpoint named "${first}"`];
}

/** Why a Service that exists has no records. */
function whyHidden(key: string, service: Service, { caches, options }: Cluster): string | undefined {
  const endpoints = caches.slices.by('owner', sourceOf('Service', key)).flatMap((slice) => slice.endpoints ?? []);
  const hasReady = endpoints.some(isReady);
  const count = endpoints.length === 0 ? 'no endpoints' : `${endpoints.length} endpoints, none of them ready`;
  switch (reachOf(service)) {
    case 'alias':
      return undefined;
    case 'none':
      return `Service "${key}" has no cluster IP yet`;
    case 'vip':
      return options.ignoreEmptyService === true && !hasReady
        ? `Service "${key}" has ${count}, and --ignore-empty-service hides such Services`
        : undefined;
    case 'headless':
      if (options.noEndpoints === true) return `Service "${key}" is headless, and --no-endpoints hides endpoints`;
      return hasReady ? undefined : `Service "${key}" is headless and has ${count}`;
  }
}

function whyNoAlias(key: string, { spec: { externalName = '' } }: Service, below: readonly string[]): string {
  if (below.length > 0) return `Service "${key}" is an alias of "${externalName}", and an alias has no names below it`;
  return `Service "${key}" has no record: its externalName "${externalName}" is not a domain name`;
}

function whyNoPort(
  key: string,
  { spec: { ports = [] } }: Service,
  { protocol, label }: { readonly protocol: string; readonly label: string | undefined },
): string {
  const wanted = label === undefined ? `${protocol} port with a name` : `${protocol} port named "${label}"`;
  return `Service "${key}" has no ${wanted}: it has ${ports.map(portText).join(', ') || 'no ports'}`;
}

function portText({ name, srvServiceName, port, protocol = 'TCP' }: ServicePort): string {
  const label = srvServiceName ?? name;
  return `${port}/${protocol.toLowerCase()}${label === undefined || label === '' ? ' without a name' : ` "${label}"`}`;
}

function whyNoImport(
  [namespace = '', name, ...below]: readonly string[],
  cluster: Cluster,
  kind: 'ServiceImport' | 'ImportedService',
): readonly string[] {
  const missing = whyNoNamespace(namespace, cluster);
  if (missing !== undefined || name === undefined) return missing === undefined ? [] : [missing];
  const key = `${namespace}/${name}`;
  const { imports, importedServices, slices } = cluster.caches;
  const object = kind === 'ServiceImport' ? imports.get(key) : importedServices.get(key);
  if (object === undefined) return [`${kind} "${key}" does not exist: no cluster exports that Service here`];
  const endpoints = slices.by('owner', sourceOf(kind, key)).flatMap((slice) => slice.endpoints ?? []);
  if (below.length === 0)
    return [`${kind} "${key}" has no IP, and none of its ${endpoints.length} endpoints is published`];
  return [`${kind} "${key}" exists, but has no name "${below.toReversed().join('.')}" below it`];
}

function whyNoPod(
  [namespace = '', label]: readonly string[],
  mode: NonNullable<ZoneUpdaterOptions['pods']>,
  cluster: Cluster,
): readonly string[] {
  if (mode === 'disabled') return ['records of Pods are disabled: pass --pods insecure or --pods verified'];
  const missing = whyNoNamespace(namespace, cluster);
  if (missing !== undefined || label === undefined) return missing === undefined ? [] : [missing];
  if (mode === 'insecure') return [`"${label}" is not an IP address with dashes instead of dots or colons`];
  return [`Namespace "${namespace}" has no running Pod with the address "${label}"`];
}
