// Validation that the volumes of Pods and PersistentVolumes share: paths and the sources that both have.
import type { FieldError } from '../../field-errors.ts';
import { invalidAll, invalidValue, notSupported, required, tooLong } from '../../field-errors.ts';
import { dnsSubdomainErrors } from '../../names.ts';

/** Errors of a path that must not lead out of its directory. */
export const backstepErrors = (text: string, path: string): readonly FieldError[] =>
  text.split('/').includes('..') ? [invalidValue(path, text, "must not contain '..'")] : [];

/** Errors of a path that must be below its directory. */
export const relativePathErrors = (text: string, path: string): readonly FieldError[] => [
  ...(text.startsWith('/') ? [invalidValue(path, text, 'must be a relative path')] : []),
  ...backstepErrors(text, path),
];

const hostPathTypes: readonly string[] = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
];

interface HostPath {
  readonly path: string;
  readonly type?: string;
}

export function hostPathErrors({ path, type = '' }: HostPath, at: string): readonly FieldError[] {
  if (path === '') return [required(`${at}.path`)];
  return [
    ...backstepErrors(path, `${at}.path`),
    ...(hostPathTypes.includes(type) ? [] : [notSupported(`${at}.type`, type, hostPathTypes)]),
  ];
}

interface Nfs {
  readonly server: string;
  readonly path: string;
}

export const nfsErrors = ({ server, path }: Nfs, at: string): readonly FieldError[] => [
  ...(server === '' ? [required(`${at}.server`)] : []),
  ...(path === '' ? [required(`${at}.path`)] : []),
  ...(path.startsWith('/') ? [] : [invalidValue(`${at}.path`, path, 'must be an absolute path')]),
];

const maxDriverBytes = 63;

/** Errors of the name of a CSI driver. */
export const driverErrors = (driver: string, path: string): readonly FieldError[] => [
  ...(driver === '' ? [required(path)] : invalidAll(path, driver, dnsSubdomainErrors(driver.toLowerCase()))),
  ...(Buffer.byteLength(driver) > maxDriverBytes ? [tooLong(path, maxDriverBytes)] : []),
];
