// Validates the common fields and the sources hostPath, local, nfs and csi. Others are stored without validation.
import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsSubdomainErrors } from '../../../names.ts';
import { parseQuantity } from '../../../quantity.ts';
import { accessModeErrors, classAnnotation, volumeModes } from '../access-modes.ts';
import { nodeLabelWarnings } from '../node/deprecated-labels.ts';
import { nodeSelectorErrors } from '../node/selector-errors.ts';
import { backstepErrors, driverErrors, hostPathErrors, nfsErrors } from '../volume-errors.ts';
import type { PersistentVolume, PersistentVolumeSpec } from './schema.ts';
import { sourceFields } from './schema.ts';

type Spec = PersistentVolumeSpec;

const reclaimPolicies: readonly string[] = ['Delete', 'Recycle', 'Retain'];

/** Validation errors of a volume. */
export function volumeErrors({ spec }: PersistentVolume): readonly FieldError[] {
  const { accessModes = [], persistentVolumeReclaimPolicy: policy = '', storageClassName = '', volumeMode } = spec;
  return [
    ...(accessModes.length === 0 ? [required('spec.accessModes')] : []),
    ...accessModeErrors(accessModes, 'spec.accessModes'),
    ...capacityErrors(spec.capacity ?? {}),
    ...(policy === '' || reclaimPolicies.includes(policy)
      ? []
      : [notSupported('spec.persistentVolumeReclaimPolicy', policy, reclaimPolicies)]),
    ...affinityErrors(spec),
    ...sourceErrors(spec),
    ...(storageClassName === ''
      ? []
      : invalidAll('spec.storageClassName', storageClassName, dnsSubdomainErrors(storageClassName))),
    ...(volumeMode === undefined || volumeModes.includes(volumeMode)
      ? []
      : [notSupported('spec.volumeMode', volumeMode, volumeModes)]),
    ...attributesClassErrors(spec),
  ];
}

function capacityErrors(capacity: Readonly<Record<string, string | number>>): readonly FieldError[] {
  const names = Object.keys(capacity);
  const path = 'spec.capacity';
  return [
    ...(names.length === 0 ? [required(path)] : []),
    ...(names.length === 1 && names[0] === 'storage' ? [] : [notSupported(path, capacity, ['storage'])]),
    ...Object.entries(capacity).flatMap(([name, amount]) => {
      const { nano } = parseQuantity(String(amount));
      const at = `${path}[${name}]`;
      return [
        ...(nano < 0n ? [invalidValue(at, amount, 'must be a valid resource quantity')] : []),
        ...(nano <= 0n ? [invalidValue(at, amount, 'must be greater than zero')] : []),
      ];
    }),
  ];
}

function affinityErrors({ nodeAffinity }: Spec): readonly FieldError[] {
  if (nodeAffinity === undefined) return [];
  const path = 'spec.nodeAffinity.required';
  if (nodeAffinity.required === undefined) return [required(path, 'must specify required node constraints')];
  return nodeSelectorErrors(nodeAffinity.required, path);
}

function sourceErrors(spec: Spec): readonly FieldError[] {
  const [first, ...others] = sourceFields.filter((field) => spec[field] !== undefined);
  if (first === undefined) return [required('spec', 'must specify a volume type')];
  const { hostPath, persistentVolumeReclaimPolicy: policy } = spec;
  const isRoot = hostPath !== undefined && /^\/+$/.test(hostPath.path);
  return [
    ...contentErrors(spec, first),
    ...(others.includes('flexVolume') ? contentErrors(spec, 'flexVolume') : []),
    // As in Kubernetes, a flexVolume beside another volume is accepted.
    ...others
      .filter((field) => field !== 'flexVolume')
      .map((field) => forbiddenField(`spec.${field}`, 'may not specify more than 1 volume type')),
    ...(isRoot && policy === 'Recycle'
      ? [forbiddenField('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'")]
      : []),
  ];
}

function contentErrors(spec: Spec, field: (typeof sourceFields)[number]): readonly FieldError[] {
  const { hostPath, nfs, local, csi, flexVolume, nodeAffinity } = spec;
  const at = `spec.${field}`;
  if (field === 'hostPath' && hostPath !== undefined) return hostPathErrors(hostPath, at);
  if (field === 'local' && local !== undefined) {
    return [
      ...(local.path === '' ? [required(`${at}.path`)] : backstepErrors(local.path, `${at}.path`)),
      ...(nodeAffinity === undefined ? [required('spec.nodeAffinity', 'Local volume requires node affinity')] : []),
    ];
  }
  if (field === 'flexVolume' && flexVolume?.driver === '') return [required(`${at}.driver`)];
  if (field === 'nfs' && nfs !== undefined) return nfsErrors(nfs, at);
  return field === 'csi' && csi !== undefined ? csiErrors(csi, at) : [];
}

const csiSecrets = [
  'controllerPublishSecretRef',
  'controllerExpandSecretRef',
  'nodePublishSecretRef',
  'nodeExpandSecretRef',
] as const;

function csiErrors(csi: NonNullable<Spec['csi']>, at: string): readonly FieldError[] {
  const { driver, volumeHandle } = csi;
  return [
    ...driverErrors(driver, `${at}.driver`),
    ...(volumeHandle === '' ? [required(`${at}.volumeHandle`)] : []),
    ...csiSecrets.flatMap((field) => {
      const reference = csi[field];
      if (reference === undefined) return [];
      return (['name', 'namespace'] as const)
        .filter((part) => (reference[part] ?? '') === '')
        .map((part) => required(`${at}.${field}.${part}`));
    }),
  ];
}

function attributesClassErrors({ volumeAttributesClassName: name, csi }: Spec): readonly FieldError[] {
  const path = 'spec.volumeAttributesClassName';
  if (name === undefined) return [];
  return [
    ...(name === ''
      ? [required(path, 'an empty string is disallowed')]
      : invalidAll(path, name, dnsSubdomainErrors(name))),
    ...(csi === undefined ? [required('spec.csi', 'has to be specified when using volumeAttributesClassName')] : []),
  ];
}

/** Validation errors of a changed volume. */
export function volumeUpdateErrors(volume: PersistentVolume, old: PersistentVolume): readonly FieldError[] {
  const { spec } = volume;
  const source = (given: Spec): object => Object.fromEntries(sourceFields.map((field) => [field, given[field]]));
  const immutable = (path: string, value: unknown, before: unknown): readonly FieldError[] =>
    isDeepStrictEqual(value, before) ? [] : [invalidValue(path, value ?? null, 'field is immutable')];
  const isCleared = old.spec.volumeAttributesClassName !== undefined && spec.volumeAttributesClassName === undefined;
  return [
    ...volumeErrors(volume),
    ...(isDeepStrictEqual(source(withoutNewSecret(spec, old.spec)), source(old.spec))
      ? []
      : [forbiddenField('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation')]),
    ...immutable('volumeMode', spec.volumeMode, old.spec.volumeMode),
    ...(old.spec.nodeAffinity === undefined ? [] : immutable('nodeAffinity', spec.nodeAffinity, old.spec.nodeAffinity)),
    ...(isCleared
      ? [forbiddenField('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden')]
      : []),
  ];
}

/** The Secret for enlarging a volume may be added later. */
function withoutNewSecret(spec: Spec, old: Spec): Spec {
  const { csi } = spec;
  if (csi?.controllerExpandSecretRef === undefined || old.csi === undefined) return spec;
  if (old.csi.controllerExpandSecretRef !== undefined) return spec;
  const { controllerExpandSecretRef: _, ...kept } = csi;
  return { ...spec, csi: kept };
}

const deprecatedAnnotations: Readonly<Record<string, string>> = {
  [classAnnotation]: 'deprecated since v1.8; use "storageClassName" attribute instead',
  'volume.beta.kubernetes.io/mount-options': 'deprecated since v1.31; use "mountOptions" attribute instead',
};

const deprecatedSources: readonly (readonly [field: (typeof sourceFields)[number], path: string, since: string])[] = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
];

/** Warnings about deprecated fields. */
export function volumeWarnings({ metadata: { annotations = {} }, spec }: PersistentVolume): readonly string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const labels = terms.flatMap(({ matchExpressions = [] }, term) =>
    matchExpressions.map(({ key }, index) => {
      const path = `spec.nodeAffinity.required.nodeSelectorTerms[${term}].matchExpressions[${index}].key`;
      return [`${path}: ${key} is`, key] as const;
    }),
  );
  return [
    ...Object.entries(deprecatedAnnotations)
      .filter(([key]) => annotations[key] !== undefined)
      .map(([key, text]) => `metadata.annotations[${key}]: ${text}`),
    ...(spec.persistentVolumeReclaimPolicy === 'Recycle'
      ? [
          'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
        ]
      : []),
    ...nodeLabelWarnings(labels),
    ...deprecatedSources
      .filter(([field]) => spec[field] !== undefined)
      .map(([, path, since]) => `spec.${path}: ${since}`),
  ];
}
