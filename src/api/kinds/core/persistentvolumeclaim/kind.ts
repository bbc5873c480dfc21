import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import type { Quantity } from '../../../quantity.ts';
import { parseQuantity, wholeQuantity } from '../../../quantity.ts';
import type { Amounts } from '../../../quota.ts';
import { accessModesText, classAnnotation } from '../access-modes.ts';
import type { PersistentVolumeClaim } from '../pod/claim.ts';
import { persistentVolumeClaim } from '../pod/claim.ts';
import { claimSpecErrors, claimStatusErrors, claimUpdateErrors, claimWarnings } from './validate.ts';

type Spec = PersistentVolumeClaim['spec'];

const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
  metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? '';

export const persistentVolumeClaimKind = defineKind<PersistentVolumeClaim>({
  group: '',
  version: 'v1',
  kind: 'PersistentVolumeClaim',
  plural: 'persistentvolumeclaims',
  shortNames: ['pvc'],
  namespaced: true,
  schema: persistentVolumeClaim,
  hasStatus: true,
  deleteReturns: 'object',
  selectableFields: { name: ({ metadata }) => metadata.name ?? '' },
  withoutController: 'no volume is provisioned or bound',
  quota: { counts: isCounted, usage: usageOf, checksUpdates: true },
  columns: [
    nameColumn,
    column('Status', 'Phase of the claim.', ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
    ),
    column('Volume', 'The volume that is bound.', ({ spec }) => spec.volumeName ?? ''),
    column('Capacity', 'Size of the volume.', ({ spec, status }) =>
      spec.volumeName ? String(status.capacity?.['storage'] ?? '0') : '',
    ),
    column('Access Modes', 'How the volume can be mounted.', ({ spec, status }) =>
      spec.volumeName ? accessModesText(status.accessModes) : '',
    ),
    column('StorageClass', 'Class of the storage.', classOf),
    column(
      'VolumeAttributesClass',
      'Class of mutable attributes.',
      ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    ),
    ageColumn,
    column('VolumeMode', 'Filesystem or Block.', ({ spec }) => spec.volumeMode ?? '<unset>', { wide: true }),
  ],
  applyDefaults: ({ spec, status, ...rest }) => ({
    ...rest,
    spec: { ...spec, volumeMode: spec.volumeMode ?? 'Filesystem' },
    status: { ...status, phase: status.phase ?? 'Pending' },
  }),
  prepareForCreate: ({ spec, ...rest }) => ({
    ...rest,
    spec: withBothSources(spec, undefined),
    status: { phase: 'Pending' },
  }),
  prepareForUpdate: ({ spec, ...rest }, old) => ({ ...rest, spec: withBothSources(spec, old.spec) }),
  validateCreate: ({ spec }) => claimSpecErrors(spec, 'spec'),
  validateUpdate: claimUpdateErrors,
  validateStatus: claimStatusErrors,
  warnings: claimWarnings,
});

/** Sets `dataSource` and `dataSourceRef` from each other. A data source of another kind counts only as a reference. */
function withBothSources(spec: Spec, old: Spec | undefined): Spec {
  const { dataSource: given, dataSourceRef: givenReference, ...rest } = spec;
  const isForeign = (givenReference?.namespace ?? '') !== ''; // behind a gate of Kubernetes that is off
  const reference = isForeign && old?.dataSourceRef === undefined ? undefined : givenReference;
  const isInUse = old?.dataSource !== undefined || old?.dataSourceRef !== undefined;
  const source = isInUse || reference !== undefined || isVolumeSource(given) ? given : undefined;
  const dataSource = source ?? (reference === undefined || isForeign ? undefined : withoutNamespace(reference));
  const dataSourceRef = reference ?? source;
  return {
    ...rest,
    ...(dataSource === undefined ? {} : { dataSource }),
    ...(dataSourceRef === undefined ? {} : { dataSourceRef }),
  };
}

const isVolumeSource = (source: Source | undefined): boolean =>
  (source?.kind === 'PersistentVolumeClaim' && (source.apiGroup ?? '') === '') ||
  (source?.kind === 'VolumeSnapshot' && source.apiGroup === 'snapshot.storage.k8s.io');

type Source = NonNullable<Spec['dataSource']>;

const withoutNamespace = ({ apiGroup, kind, name }: Source): Source => ({
  ...(apiGroup === undefined ? {} : { apiGroup }),
  kind,
  name,
});

const amountNames: ReadonlySet<string> = new Set(['persistentvolumeclaims', 'requests.storage']);
const classSuffix = '.storageclass.storage.k8s.io';

/** Whether a quota may limit this for claims: their number or their size, of all classes or of one. */
function isCounted(name: string): boolean {
  if (amountNames.has(name) || name === 'count/persistentvolumeclaims') return true;
  const slash = name.indexOf('/');
  return (
    slash > classSuffix.length && name.slice(0, slash).endsWith(classSuffix) && amountNames.has(name.slice(slash + 1))
  );
}

/** What a claim uses of a quota: one claim and its size, of all classes and of its own. */
function usageOf(claim: PersistentVolumeClaim): Amounts {
  const one = wholeQuantity(1);
  const size = claim.spec.resources.requests?.['storage'];
  const name = classOf(claim);
  const amounts: [string, Quantity][] = [['persistentvolumeclaims', one]];
  if (size !== undefined) amounts.push(['requests.storage', parseQuantity(String(size))]);
  const ofClass =
    name === '' ? [] : amounts.map(([each, amount]) => [`${name}${classSuffix}/${each}`, amount] as const);
  return new Map([['count/persistentvolumeclaims', one], ...amounts, ...ofClass]);
}
