// Validates the volumes of a Pod as Kubernetes does. Of drivers that were removed from Kubernetes, or moved to CSI drivers,
// only required fields are validated.
import type { FieldError } from '../../../field-errors.ts';
import { duplicate, forbiddenField, invalidAll, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../../names.ts';
import { parseQuantity } from '../../../quantity.ts';
import type { Infer } from '../../../schema/infer.ts';
import { claimSpecErrors } from '../persistentvolumeclaim/validate.ts';
import type { keyToPath } from '../references.ts';
import { driverErrors, hostPathErrors, nfsErrors } from '../volume-errors.ts';
import type { PodSpec } from './schema.ts';
import { projectedErrors } from './validate-projections.ts';
import { downwardFileErrors, fileErrors, modeErrors } from './validate-volume-files.ts';

type Volume = NonNullable<PodSpec['volumes']>[number];

/** The sources in the order in which they are validated: the first counts, the others are forbidden. */
const order = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
] as const;

/** Validation errors of volumes at `path`, and the valid ones by name: containers can mount only these. */
export function volumeErrors(
  volumes: readonly Volume[],
  path: string,
): { readonly errors: readonly FieldError[]; readonly valid: ReadonlyMap<string, Volume> } {
  const valid = new Map<string, Volume>();
  const errors = volumes.flatMap((volume, index) => {
    const { name } = volume;
    const at = `${path}[${index}]`;
    const own = [
      ...sourcesErrors(volume, at),
      ...(name === '' ? [required(`${at}.name`)] : invalidAll(`${at}.name`, name, dnsLabelErrors(name))),
      ...(valid.has(name) ? [duplicate(`${at}.name`, name)] : []),
    ];
    if (own.length === 0) valid.set(name, volume);
    return own;
  });
  return { errors, valid };
}

function sourcesErrors(volume: Volume, at: string): readonly FieldError[] {
  const [first, ...others] = order.filter((source) => volume[source] !== undefined);
  if (first === undefined) return [required(at, 'must specify a volume type')];
  return [
    ...sourceErrors(volume, first, `${at}.${first}`),
    ...requiredErrors(first, volume[first] ?? {}, at),
    ...others.map((source) => forbiddenField(`${at}.${source}`, 'may not specify more than 1 volume type')),
  ];
}

function sourceErrors(volume: Volume, source: string, at: string): readonly FieldError[] {
  const { emptyDir, hostPath, secret, nfs, persistentVolumeClaim: claim, downwardAPI, configMap } = volume;
  const { projected, csi, ephemeral, image } = volume;
  switch (source) {
    case 'emptyDir':
      return emptyDir?.sizeLimit !== undefined && parseQuantity(String(emptyDir.sizeLimit)).nano < 0n
        ? [forbiddenField(`${at}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
        : [];
    case 'hostPath':
      return hostPath === undefined ? [] : hostPathErrors(hostPath, at);
    case 'secret':
      return secret === undefined ? [] : keysErrors(secret, secret.secretName, `${at}.secretName`, at);
    case 'nfs':
      return nfs === undefined ? [] : nfsErrors(nfs, at);
    case 'persistentVolumeClaim':
      return claim?.claimName === '' ? [required(`${at}.claimName`)] : [];
    case 'downwardAPI':
      return [
        ...modeErrors(downwardAPI?.defaultMode, `${at}.defaultMode`),
        // As in Kubernetes, the path of these errors is that of the volume.
        ...(downwardAPI?.items ?? []).flatMap((file) => downwardFileErrors(file, at)),
      ];
    case 'configMap':
      return configMap === undefined ? [] : keysErrors(configMap, configMap.name, `${at}.name`, at);
    case 'projected':
      return projected === undefined ? [] : projectedErrors(projected, at);
    case 'csi':
      return csi === undefined ? [] : csiErrors(csi, at);
    case 'ephemeral':
      return ephemeral === undefined ? [] : ephemeralErrors(ephemeral, `${at}.volumeClaimTemplate`);
    case 'image':
      return image === undefined ? [] : imageErrors(image, at);
    default:
      return [];
  }
}

/** The required fields of drivers, most of which Kubernetes has removed; no other rules of them are implemented. */
const requiredFields: Readonly<Record<string, readonly string[]>> = {
  awsElasticBlockStore: ['volumeID'],
  azureFile: ['secretName', 'shareName'],
  cephfs: ['monitors'],
  cinder: ['volumeID'],
  flexVolume: ['driver'],
  gcePersistentDisk: ['pdName'],
  gitRepo: ['repository'],
  glusterfs: ['endpoints', 'path'],
  iscsi: ['targetPortal', 'iqn'],
  photonPersistentDisk: ['pdID'],
  portworxVolume: ['volumeID'],
  rbd: ['monitors', 'image'],
  scaleIO: ['gateway', 'system', 'volumeName'],
  storageos: ['volumeName'],
  vsphereVolume: ['volumePath'],
};

function requiredErrors(source: string, content: object, at: string): readonly FieldError[] {
  const fields = new Map<string, unknown>(Object.entries(content));
  // As in Kubernetes, errors of a gcePersistentDisk have another path.
  const path = `${at}.${source === 'gcePersistentDisk' ? 'persistentDisk' : source}`;
  return (requiredFields[source] ?? []).flatMap((field) => {
    const value = fields.get(field);
    const isEmpty = Array.isArray(value) ? value.length === 0 : (value ?? '') === '';
    return isEmpty ? [required(`${path}.${field}`)] : [];
  });
}

interface Keys {
  readonly items?: readonly Infer<typeof keyToPath>[];
  readonly defaultMode?: number;
}

const keysErrors = (
  { items = [], defaultMode }: Keys,
  name: string | undefined,
  nameField: string,
  at: string,
): readonly FieldError[] => [
  ...((name ?? '') === '' ? [required(nameField)] : []),
  ...modeErrors(defaultMode, `${at}.defaultMode`),
  ...items.flatMap((item, index) => fileErrors(item, `${at}.items[${index}]`)),
];

function csiErrors({ driver, nodePublishSecretRef }: NonNullable<Volume['csi']>, at: string): readonly FieldError[] {
  const errors = driverErrors(driver, `${at}.driver`);
  if (nodePublishSecretRef === undefined) return errors;
  const { name = '' } = nodePublishSecretRef;
  if (name === '') return [...errors, required(`${at}.nodePublishSecretRef.name`)];
  return [...errors, ...invalidAll(`${at}.name`, name, dnsSubdomainErrors(name))];
}

const ephemeralErrors = (
  { volumeClaimTemplate: template }: NonNullable<Volume['ephemeral']>,
  path: string,
): readonly FieldError[] =>
  template === undefined ? [required(path)] : claimSpecErrors(template.spec, `${path}.spec`);

const pullPolicies: readonly string[] = ['Always', 'IfNotPresent', 'Never'];

const imageErrors = (
  { reference = '', pullPolicy = 'Always' }: NonNullable<Volume['image']>,
  at: string,
): readonly FieldError[] => [
  ...(reference === '' ? [required(`${at}.reference`)] : []),
  ...(pullPolicies.includes(pullPolicy) ? [] : [notSupported(`${at}.pullPolicy`, pullPolicy, pullPolicies)]),
];
