// Access modes of volumes and claims.
import type { FieldError } from '../../field-errors.ts';
import { forbiddenField, notSupported } from '../../field-errors.ts';

const abbreviations: Readonly<Record<string, string>> = {
  ReadWriteOnce: 'RWO',
  ReadOnlyMany: 'ROX',
  ReadWriteMany: 'RWX',
  ReadWriteOncePod: 'RWOP',
};
const modes: readonly string[] = Object.keys(abbreviations).sort();

/** Access modes as `kubectl get` prints them: `RWO,ROX`. */
export const accessModesText = (given: readonly string[] | undefined): string =>
  Object.keys(abbreviations)
    .filter((mode) => given?.includes(mode))
    .map((mode) => abbreviations[mode])
    .join(',');

/** Validation errors of access modes at `path`. */
export function accessModeErrors(given: readonly string[], path: string): readonly FieldError[] {
  const isExclusive = given.includes('ReadWriteOncePod');
  const others = given.filter((mode) => mode !== 'ReadWriteOncePod' && modes.includes(mode));
  return [
    ...given.filter((mode) => !modes.includes(mode)).map((mode) => notSupported(path, mode, modes)),
    ...(isExclusive && others.length > 0
      ? [forbiddenField(path, 'may not use ReadWriteOncePod with other access modes')]
      : []),
  ];
}

/** The annotation that named the class before the field `storageClassName`. */
export const classAnnotation = 'volume.beta.kubernetes.io/storage-class';

export const volumeModes: readonly string[] = ['Block', 'Filesystem'];
