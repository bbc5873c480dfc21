// A merged service → what one member is to hold of it.
import type { EndpointSlice } from '../../api/kinds/discovery/endpointslice/schema.ts';
import type { ApiObject, OwnerReference } from '../../api/metadata.ts';
import { dns1035LabelErrors } from '../../api/names.ts';
import type { Merged } from '../merge/merged.ts';
import { isDeleting } from '../record.ts';
import type { VipState } from '../vip/vip.ts';
import type { Actual, Desired, Refusal, Target } from './desired.ts';
import { importStatusFor } from './import-status.ts';
import { derivedServiceFor, importedServiceFor, serviceImportFor } from './imports.ts';
import { derivedName, isOurs } from './marks.ts';
import type { Owners } from './slices.ts';
import { mirroredSlices } from './slices.ts';
import { withUnknown } from './unknown.ts';

const noClusters: ReadonlySet<string> = new Set();

/** What a member is to hold of a service. Everything is undefined or empty when it is to hold nothing. */
export function project(merged: Merged, target: Target): Desired {
  const { member, actual, unknownClusters = noClusters } = target;
  const refusal = refusalOf(merged, target);
  if (refusal !== undefined) return nothing(merged, [refusal], unknownClusters);
  const known = withUnknown(merged, actual, unknownClusters);
  const { seed, current } = known.views;
  const shown = current ?? seed;
  if (shown === undefined) return nothing(merged, [], unknownClusters);
  const derivedService = member.hasStockProxy ? derivedServiceFor(merged, shown, member.serviceFamilies) : undefined;
  const vip = shown.type === 'Headless' ? unneeded : member.hasStockProxy ? derivedVip(target, known) : target.vip;
  const input = { vip, isDerived: derivedService !== undefined };
  const importedService = seed && member.serves.seed ? importedServiceFor(merged, seed, vip) : undefined;
  const serviceImport = current && member.serves.current ? serviceImportFor(merged, current, input) : undefined;
  const owners = ownersIn(actual, { seed: importedService, current: serviceImport });
  const isWaiting = Object.keys(owners).length === 0 && (importedService ?? serviceImport) !== undefined;
  const options = {
    owners,
    derivedName: derivedService && derivedName(merged),
    keepsSrvNames: member.keepsSrvNames,
  };
  return {
    namespace: merged.namespace,
    name: merged.name,
    importedService,
    serviceImport,
    importStatus: serviceImport && current && importStatusFor(current, vip),
    derivedService,
    slices: isWaiting ? 'later' : mirroredSlices(known, options),
    unknownClusters,
    refusals: refusalsOfVip(vip, member.id),
  };
}

const unneeded: VipState = { state: 'unneeded' };

/** The clusters that were there before, by precedence: what to give to the first merge after a restart. */
export function incumbentsIn({ serviceImport, importedService }: Actual): readonly string[] {
  const clusters = serviceImport?.status?.clusters ?? importedService?.spec?.clusters ?? [];
  return clusters.map(({ cluster }) => cluster);
}

function nothing(
  { namespace, name }: Merged,
  refusals: readonly Refusal[],
  unknownClusters: ReadonlySet<string>,
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
    unknownClusters,
    refusals,
  };
}

/** Why the member is to hold nothing although the service is exported. */
function refusalOf({ namespace, name, order }: Merged, { member }: Target): Refusal | undefined {
  if (order.length === 0) return undefined;
  const { id } = member;
  if (!member.namespaces.has(namespace)) {
    return {
      reason: 'NamespaceAbsent',
      message: `cluster ${id} has no namespace ${namespace}: create it there to import the service`,
    };
  }
  if (!member.acceptsRelaxedNames && dns1035LabelErrors(name).length > 0) {
    return {
      reason: 'NameRefused',
      message: `cluster ${id} refuses the name ${name}: turn on its feature gate RelaxedServiceNameValidation`,
    };
  }
  if (!member.serves.seed && !member.serves.current) {
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

/** The address is that of the derived Service, once it has one. */
function derivedVip({ actual: { derivedService }, member }: Target, { views }: Merged): VipState {
  const families = (views.current ?? views.seed)?.families ?? [];
  const { serviceFamilies } = member;
  if (serviceFamilies !== undefined && !families.some((family) => serviceFamilies.includes(family))) {
    return {
      state: 'unsupported',
      message: `Services there cannot have an address of family ${families.join(' or ')}`,
    };
  }
  const { clusterIPs: ips = [], ipFamilies = [] } = derivedService?.spec ?? {};
  if (derivedService === undefined || !isOurs(derivedService) || ips.length === 0) return { state: 'pending' };
  return { state: 'reserved', ips, families: ipFamilies };
}

function ownersIn(actual: Actual, wanted: { readonly seed: unknown; readonly current: unknown }): Owners {
  const seed = wanted.seed === undefined ? undefined : ownerOf(actual.importedService, seedOwner);
  const current = wanted.current === undefined ? undefined : ownerOf(actual.serviceImport, currentOwner);
  return { ...(seed && { seed }), ...(current && { current }) };
}

const seedOwner = { apiVersion: 'multicluster.k8s.io/v1alpha1', kind: 'ImportedService', controller: false };
const currentOwner = { apiVersion: 'multicluster.x-k8s.io/v1beta1', kind: 'ServiceImport', controller: false };

/** Only what is there can own: a reference needs a uid, and one to a thing that is going would take the slice with it. */
function ownerOf(
  object: ApiObject | undefined,
  reference: Omit<OwnerReference, 'name' | 'uid'>,
): OwnerReference | undefined {
  if (object === undefined || !isOurs(object) || isDeleting(object)) return undefined;
  const { name = '', uid } = object.metadata;
  return uid === undefined ? undefined : { ...reference, name, uid };
}
