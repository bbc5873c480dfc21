// Validates the files of volumes with keys of objects and fields of the Pod as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import type { Infer } from '../../../schema/infer.ts';
import type { keyToPath } from '../references.ts';
import { relativePathErrors } from '../volume-errors.ts';
import type { PodSpec } from './schema.ts';
import { fieldErrors, resourceFieldErrors } from './validate-field-references.ts';

type DownwardVolume = NonNullable<NonNullable<PodSpec['volumes']>[number]['downwardAPI']>;
type DownwardFile = NonNullable<DownwardVolume['items']>[number];

const maxMode = 0o777;

/** Errors of the mode of a file. */
export const modeErrors = (mode: number | undefined, path: string): readonly FieldError[] =>
  mode === undefined || (mode >= 0 && mode <= maxMode)
    ? []
    : [invalidValue(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive')];

/** Errors of the path of a file in a volume; names that start with two dots are used by the node. */
export const filePathErrors = (text: string, path: string): readonly FieldError[] => [
  ...relativePathErrors(text, path),
  ...(text.startsWith('..') && !text.startsWith('../') ? [invalidValue(path, text, "must not start with '..'")] : []),
];

/** Errors of a file with a key. */
export const fileErrors = ({ key, path, mode }: Infer<typeof keyToPath>, at: string): readonly FieldError[] => [
  ...(key === '' ? [required(`${at}.key`)] : []),
  ...(path === '' ? [required(`${at}.path`)] : []),
  ...filePathErrors(path, `${at}.path`),
  ...modeErrors(mode, `${at}.mode`),
];

const fields: readonly string[] = [
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
];

/** Errors of a file with a field or a resource. */
export function downwardFileErrors(file: DownwardFile, at: string): readonly FieldError[] {
  const { path, fieldRef, resourceFieldRef, mode } = file;
  return [
    ...(path === '' ? [required(`${at}.path`)] : []),
    ...filePathErrors(path, `${at}.path`),
    ...(fieldRef === undefined ? [] : fieldErrors(fieldRef, `${at}.fieldRef`, fields)),
    ...(fieldRef !== undefined && resourceFieldRef !== undefined
      ? [invalidValue(at, 'resource', 'fieldRef and resourceFieldRef can not be specified simultaneously')]
      : []),
    ...(fieldRef === undefined && resourceFieldRef !== undefined
      ? resourceFieldErrors(resourceFieldRef, `${at}.resourceFieldRef`, true)
      : []),
    ...(fieldRef === undefined && resourceFieldRef === undefined
      ? [required(at, 'one of fieldRef and resourceFieldRef is required')]
      : []),
    ...modeErrors(mode, `${at}.mode`),
  ];
}
