// Computes the desired objects of a merged service in one member.
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ApiObject, OwnerReference } from '../../api/metadata.ts';
import { familiesOf } from '../../api/addresses.ts';
import { dns1035LabelErrors } from '../../api/names.ts';
import type { Merged, View } from '../merge/merged.ts';
import type { MemberFacts } from '../record.ts';
import { isDeleting } from '../record.ts';
import type { VipState } from '../vip/allocator.ts';
import { namespaceAbsent } from './delivery.ts';
import type { Actual, Desired, Refusal, Target } from './desired.ts';
import { gatewayRefusals } from './gateway.ts';
import { derivedServiceFor, importedServiceFor, importStatusFor, serviceImportFor } from './imports.ts';
import { derivedName, isOurs } from './labels.ts';
import { withDraining } from './drain.ts';
import { MirrorCache } from './mirror.ts';
import type { Owners } from './slices.ts';
import { mirroredSlices } from './slices.ts';
import { withUnknown } from './unknown.ts';

const noClusters: ReadonlySet<string> = new Set();

/** The desired objects of a service in a member; all undefined or empty if it should have none. */
export function project(merged: Merged, target: Target): Desired {
  const {
    member,
    actual,
    unknownClusters = noClusters,
    lostClusters = noClusters,
    mirrors = new MirrorCache(),
  } = target;
  const { silentClusters = noClusters, drainingClusters = noClusters } = target;
  const untouchedClusters = unknownClusters.union(lostClusters);
  const refusal = refusalOf(merged, target);
  if (refusal !== undefined) return nothing(merged, [refusal], untouchedClusters);
  const known = withDraining(withUnknown(merged, actual, unknownClusters), drainingClusters);
  const supercluster = member.serves.supercluster ? known.views.supercluster : undefined;
  const clusterset = member.serves.clusterset ? known.views.clusterset : undefined;
  const addressed = [clusterset, supercluster].find((view) => view?.type === 'ClusterSetIP');
  const derivedService =
    addressed && member.hasStockProxy ? derivedServiceFor(merged, addressed, member.serviceFamilies) : undefined;
  const vip =
    addressed === undefined ? unneeded : member.hasStockProxy ? derivedVip(target, addressed) : givenVip(target);
  const vipOf = (view: View): VipState => (view.type === 'Headless' ? unneeded : vip);
  const importedService = supercluster && importedServiceFor(merged, supercluster, vipOf(supercluster));
  const isDerived = derivedService !== undefined;
  const fields = member.importFields?.spec;
  const serviceImport =
    clusterset && serviceImportFor(merged, clusterset, { vip: vipOf(clusterset), isDerived, fields });
  const owners = ownersIn(target, { supercluster: importedService, clusterset: serviceImport });
  const isWaiting = Object.keys(owners).length === 0 && (importedService ?? serviceImport) !== undefined;
  const options = {
    importer: member.id,
    owners,
    derivedName: derivedService && derivedName(merged),
    keepsSrvNames: member.keepsSrvNames,
    except: untouchedClusters,
    silent: silentClusters,
    // A draining cluster continues to use its own endpoints.
    draining: drainingClusters.has(member.id) ? drainingClusters.difference(new Set([member.id])) : drainingClusters,
    mirrors,
    gateway: target.gateway,
    members: target.members ?? [],
  };
  return {
    namespace: merged.namespace,
    name: merged.name,
    importedService,
    serviceImport,
    importStatus: clusterset && importStatusFor(clusterset, vipOf(clusterset), member.importFields?.status),
    derivedService,
    slices: isWaiting ? 'later' : mirroredSlices(known, options),
    untouchedClusters,
    refusals: [...refusalsOfVip(vip, member.id), ...gatewayRefusals(known, member.id, target.gateway)],
  };
}

const unneeded: VipState = { state: 'unneeded' };

/** The clusters in existing imports by precedence: the incumbents of the first merge after a restart. */
export function incumbentsIn({ serviceImport, importedService }: Actual): readonly string[] {
  const clusters = serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? [];
  return clusters.map(({ cluster }) => cluster);
}

function nothing(
  { namespace, name }: Merged,
  refusals: readonly Refusal[],
  untouchedClusters: ReadonlySet<string>,
): Desired {
  const slices: readonly EndpointSlice[] = [];
  return {
    namespace,
    name,
    importedService: undefined,
    serviceImport: undefined,
    importStatus: undefined,
    derivedService: undefined,
    slices,
    untouchedClusters,
    refusals,
  };
}

/** Why the member imports nothing although the service is exported. */
function refusalOf({ namespace, name, order }: Merged, { member }: Target): Refusal | undefined {
  if (order.length === 0) return undefined;
  const { id } = member;
  if (!member.namespaces.has(namespace)) return namespaceAbsent(id, namespace);
  if (!member.acceptsRelaxedNames && dns1035LabelErrors(name).length > 0) {
    return {
      reason: 'NameRefused',
      message: `cluster ${id} rejects the name ${name}: enable its feature gate RelaxedServiceNameValidation`,
    };
  }
  if (!member.serves.supercluster && !member.serves.clusterset) {
    return {
      reason: 'KindNotServed',
      message: `cluster ${id} serves neither kind of import: install their definitions`,
    };
  }
  return undefined;
}

function refusalsOfVip(vip: VipState, cluster: string): readonly Refusal[] {
  if (vip.state === 'exhausted') return [{ reason: 'NoAddress', message: `cluster ${cluster}: ${vip.message}` }];
  if (vip.state === 'unsupported') {
    return [{ reason: 'FamilyNotSupported', message: `cluster ${cluster}: ${vip.message}` }];
  }
  return [];
}

/** The allocated address; a service that needs none for the moment keeps the one it has. */
const givenVip = ({ vip, actual }: Target): VipState => (vip.state === 'unneeded' ? heldVip(actual) : vip);

/** The address in existing imports, which is kept until there is another one (MCS-44). */
function heldVip({ importedService, serviceImport }: Actual): VipState {
  const { ip } = importedService?.spec ?? {};
  const { ips = ip === undefined ? [] : [ip], ipFamilies: families = familiesOf(ips) } = serviceImport?.spec ?? {};
  return ips.length === 0 ? { state: 'pending' } : { state: 'reserved', ips, families };
}

/** The cluster IP of the derived Service, once it has one. */
function derivedVip({ actual, member: { serviceFamilies } }: Target, { families }: View): VipState {
  const { derivedService } = actual;
  if (serviceFamilies !== undefined && !families.some((family) => serviceFamilies.includes(family))) {
    return {
      state: 'unsupported',
      message: `Services there cannot have an address of family ${families.join(' or ')}`,
    };
  }
  const { clusterIPs: ips = [], ipFamilies = [] } = derivedService?.spec ?? {};
  if (derivedService === undefined || !isOurs(derivedService) || ips.length === 0) return heldVip(actual);
  return { state: 'reserved', ips, families: ipFamilies };
}

function ownersIn(
  { actual, member }: Target,
  wanted: { readonly supercluster: unknown; readonly clusterset: unknown },
): Owners {
  const supercluster =
    wanted.supercluster === undefined ? undefined : ownerOf(actual.importedService, importedServiceOwner);
  const clusterset =
    wanted.clusterset === undefined ? undefined : ownerOf(actual.serviceImport, serviceImportOwner(member));
  return { ...(supercluster && { supercluster }), ...(clusterset && { clusterset }) };
}

const importedServiceOwner = { apiVersion: 'multicluster.k8s.io/v1alpha1', kind: 'ImportedService', controller: false };

/** In a version that the member serves, because its garbage collector looks the owner up in that version. */
const serviceImportOwner = ({ mcsVersion = 'v1beta1' }: MemberFacts): Omit<OwnerReference, 'name' | 'uid'> => ({
  apiVersion: `multicluster.x-k8s.io/${mcsVersion}`,
  kind: 'ServiceImport',
  controller: false,
});

/** A reference needs a UID; with an owner that is being deleted, the slice would be deleted, too. */
function ownerOf(
  object: ApiObject | undefined,
  reference: Omit<OwnerReference, 'name' | 'uid'>,
): OwnerReference | undefined {
  if (object === undefined || !isOurs(object) || isDeleting(object)) return undefined;
  const { name = '', uid } = object.metadata;
  return uid === undefined ? undefined : { ...reference, name, uid };
}
