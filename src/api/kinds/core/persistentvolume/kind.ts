import { ageColumn, column, nameColumn } from '../../../columns.ts';
import { defineKind } from '../../../kind.ts';
import { accessModesText, classAnnotation } from '../access-modes.ts';
import type { PersistentVolume } from './schema.ts';
import { persistentVolume } from './schema.ts';
import { volumeErrors, volumeUpdateErrors, volumeWarnings } from './validate.ts';

export const persistentVolumeKind = defineKind<PersistentVolume>({
  group: '',
  version: 'v1',
  kind: 'PersistentVolume',
  plural: 'persistentvolumes',
  shortNames: ['pv'],
  namespaced: false,
  schema: persistentVolume,
  hasStatus: true,
  deleteReturns: 'object',
  withoutController: 'it is not bound to a claim',
  columns: [
    nameColumn,
    column('Capacity', 'Size of the volume.', ({ spec }) => String(spec.capacity?.['storage'] ?? '0')),
    column('Access Modes', 'How the volume can be mounted.', ({ spec }) => accessModesText(spec.accessModes)),
    column(
      'Reclaim Policy',
      'What happens when it is released.',
      ({ spec }) => spec.persistentVolumeReclaimPolicy ?? '',
    ),
    column('Status', 'Phase of the volume.', ({ metadata, status }) =>
      metadata.deletionTimestamp === undefined ? (status.phase ?? '') : 'Terminating',
    ),
    column('Claim', 'The claim that the volume is bound to.', ({ spec: { claimRef } }) =>
      claimRef === undefined ? '' : `${claimRef.namespace ?? ''}/${claimRef.name ?? ''}`,
    ),
    column(
      'StorageClass',
      'Class of the storage.',
      ({ metadata, spec }) => metadata.annotations?.[classAnnotation] ?? spec.storageClassName ?? '',
    ),
    column(
      'VolumeAttributesClass',
      'Class of mutable attributes.',
      ({ spec }) => spec.volumeAttributesClassName ?? '<unset>',
    ),
    column('Reason', 'Reason of the phase.', ({ status }) => status.reason ?? ''),
    ageColumn,
    column('VolumeMode', 'Filesystem or Block.', ({ spec }) => spec.volumeMode ?? '<unset>', { wide: true }),
  ],
  applyDefaults: ({ spec, status, ...rest }) => ({
    ...rest,
    spec: {
      ...spec,
      ...(spec.hostPath === undefined ? {} : { hostPath: { ...spec.hostPath, type: spec.hostPath.type ?? '' } }),
      persistentVolumeReclaimPolicy: spec.persistentVolumeReclaimPolicy ?? 'Retain',
      volumeMode: spec.volumeMode ?? 'Filesystem',
    },
    status: { ...status, phase: status.phase ?? 'Pending' },
  }),
  prepareForCreate: (object) => {
    const { creationTimestamp: created } = object.metadata;
    return { ...object, status: { phase: 'Pending', ...(created ? { lastPhaseTransitionTime: created } : {}) } };
  },
  validateCreate: volumeErrors,
  validateUpdate: volumeUpdateErrors,
  warnings: volumeWarnings,
});
