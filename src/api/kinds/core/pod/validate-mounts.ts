// Validates the mounts and block devices of a container as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, notFound, notSupported, required } from '../../../field-errors.ts';
import { backstepErrors, relativePathErrors } from '../volume-errors.ts';
import type { Container, PodSpec } from './schema.ts';

type Volumes = ReadonlyMap<string, NonNullable<PodSpec['volumes']>[number]>;
type Mount = NonNullable<Container['volumeMounts']>[number];

const propagations: readonly string[] = ['Bidirectional', 'HostToContainer', 'None'];
const readOnlyModes: readonly string[] = ['Disabled', 'Enabled', 'IfPossible'];

/** Validation errors of the mounts of a container at `path`. */
export function mountErrors(container: Container, path: string, volumes: Volumes): readonly FieldError[] {
  const { volumeMounts = [], volumeDevices = [] } = container;
  const list = `${path}.volumeMounts`;
  const paths = new Set<string>();
  return volumeMounts.flatMap((mount, index) => {
    const { name, mountPath } = mount;
    const at = `${list}[${index}]`;
    const isRepeated = paths.has(mountPath);
    paths.add(mountPath);
    return [
      ...(name === '' ? [required(`${at}.name`)] : []),
      ...(volumes.has(name) ? [] : [notFound(`${at}.name`, name)]),
      ...(mountPath === '' ? [required(`${at}.mountPath`)] : []),
      ...(isRepeated ? [invalidValue(`${at}.mountPath`, mountPath, 'must be unique')] : []),
      ...(volumeDevices.some((device) => device.name === name)
        ? [invalidValue(`${at}.name`, name, 'must not already exist in volumeDevices')]
        : []),
      ...(volumeDevices.some(({ devicePath }) => devicePath === mountPath)
        ? [invalidValue(`${at}.mountPath`, mountPath, 'must not already exist as a path in volumeDevices')]
        : []),
      // As in Kubernetes, the paths of these errors have no index.
      ...subPathErrors(mount, list, at),
      ...propagationErrors(mount, container, `${list}.mountPropagation`),
      ...readOnlyErrors(mount, `${list}.recursiveReadOnly`),
    ];
  });
}

function subPathErrors({ subPath = '', subPathExpr = '' }: Mount, list: string, at: string): readonly FieldError[] {
  const detail = 'subPathExpr and subPath are mutually exclusive';
  return [
    ...(subPath === '' ? [] : relativePathErrors(subPath, `${list}.subPath`)),
    ...(subPath !== '' && subPathExpr !== '' ? [invalidValue(`${at}.subPathExpr`, subPathExpr, detail)] : []),
    ...(subPathExpr === '' ? [] : relativePathErrors(subPathExpr, `${list}.subPathExpr`)),
  ];
}

function propagationErrors(
  { mountPropagation: mode }: Mount,
  { securityContext }: Container,
  path: string,
): readonly FieldError[] {
  if (mode === undefined) return [];
  const detail = 'Bidirectional mount propagation is available only to privileged containers';
  return [
    ...(propagations.includes(mode) ? [] : [notSupported(path, mode, propagations)]),
    ...(mode === 'Bidirectional' && securityContext?.privileged !== true ? [forbiddenField(path, detail)] : []),
  ];
}

function readOnlyErrors(
  { recursiveReadOnly: mode, readOnly = false, mountPropagation = 'None' }: Mount,
  path: string,
): readonly FieldError[] {
  if (mode === undefined || mode === 'Disabled') return [];
  if (!readOnlyModes.includes(mode)) return [notSupported(path, mode, readOnlyModes)];
  return [
    ...(readOnly ? [] : [forbiddenField(path, 'may only be specified when readOnly is true')]),
    ...(mountPropagation === 'None'
      ? []
      : [forbiddenField(path, 'may only be specified when mountPropagation is None or not specified')]),
  ];
}

/** Validation errors of the block devices of a container. */
export function deviceErrors(
  { volumeDevices = [], volumeMounts = [] }: Container,
  list: string,
  volumes: Volumes,
): readonly FieldError[] {
  const names = new Set<string>();
  const paths = new Set<string>();
  return volumeDevices.flatMap(({ name, devicePath }, index) => {
    const at = `${list}[${index}]`;
    const invalid = (isWrong: boolean, field: 'name' | 'devicePath', detail: string): readonly FieldError[] =>
      isWrong ? [invalidValue(`${at}.${field}`, field === 'name' ? name : devicePath, detail)] : [];
    const volume = volumes.get(name);
    const isBlock = volume?.persistentVolumeClaim !== undefined || volume?.ephemeral !== undefined;
    const hasBacksteps = backstepErrors(devicePath, '').length > 0;
    const onlyClaims = 'can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode';
    const errors = [
      ...(name === '' ? [required(`${at}.name`)] : []),
      ...invalid(names.has(name), 'name', 'must be unique'),
      ...invalid(volume !== undefined && !isBlock, 'name', onlyClaims),
      ...(volume === undefined ? [notFound(`${at}.name`, name)] : []),
      ...(devicePath === '' ? [required(`${at}.devicePath`)] : []),
      ...invalid(paths.has(devicePath), 'devicePath', 'must be unique'),
      ...invalid(hasBacksteps, 'devicePath', "can not contain backsteps ('..')"),
      ...invalid(
        volumeMounts.some((mount) => mount.name === name),
        'name',
        'must not already exist in volumeMounts',
      ),
      ...invalid(
        volumeMounts.some(({ mountPath }) => mountPath === devicePath),
        'devicePath',
        'must not already exist as a path in volumeMounts',
      ),
    ];
    if (name !== '') names.add(name);
    if (!hasBacksteps) paths.add(devicePath);
    return errors;
  });
}
