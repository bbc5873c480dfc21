// Validates projected volumes as Kubernetes does. Sources whose feature gates are off in Kubernetes are not validated.
import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidValue, required } from '../../../field-errors.ts';
import type { PodSpec } from './schema.ts';
import { downwardFileErrors, fileErrors, filePathErrors, modeErrors } from './validate-volume-files.ts';

type Projected = NonNullable<NonNullable<PodSpec['volumes']>[number]['projected']>;
type Source = NonNullable<Projected['sources']>[number];

/** Validation errors of a projected volume at `path`. */
export function projectedErrors({ sources, defaultMode }: Projected, path: string): readonly FieldError[] {
  const files = new Set<string>();
  /** Errors of a file that another source has too; upstream reports them at the volume, with the name of the object. */
  const conflictErrors = (file: string, shown: string): readonly FieldError[] => {
    if (file === '' || !files.has(file)) {
      if (file !== '') files.add(file);
      return [];
    }
    return [invalidValue(path, shown, 'conflicting duplicate paths')];
  };
  return [
    ...modeErrors(defaultMode, `${path}.defaultMode`),
    ...(sources ?? []).flatMap((source, index) => {
      const at = `${path}.sources[${index}]`;
      const given = Object.values(source).filter((each) => each !== undefined);
      return [
        ...objectErrors(source.secret, `${at}.secret`, conflictErrors),
        ...objectErrors(source.configMap, `${at}.configMap`, conflictErrors),
        ...(source.downwardAPI?.items ?? []).flatMap((file) => [
          ...downwardFileErrors(file, `${at}.downwardAPI`),
          ...conflictErrors(file.path, file.path),
        ]),
        ...tokenErrors(source.serviceAccountToken, `${at}.serviceAccountToken`, path),
        ...(given.length > 1 ? [forbiddenField(at, 'may not specify more than 1 volume type per source')] : []),
      ];
    }),
  ];
}

function objectErrors(
  projection: Source['secret'],
  at: string,
  conflictErrors: (file: string, shown: string) => readonly FieldError[],
): readonly FieldError[] {
  if (projection === undefined) return [];
  const { name = '', items = [] } = projection;
  return [
    ...(name === '' ? [required(`${at}.name`)] : []),
    ...items.flatMap((item, index) => [
      ...fileErrors(item, `${at}.items[${index}]`),
      ...conflictErrors(item.path, name),
    ]),
  ];
}

const minSeconds = 600;
const maxSeconds = 2 ** 32;

/** As in Kubernetes, the path of errors about the file is that of the volume. */
function tokenErrors(token: Source['serviceAccountToken'], at: string, volume: string): readonly FieldError[] {
  if (token === undefined) return [];
  const { expirationSeconds: seconds = 3600, path } = token;
  const field = `${at}.expirationSeconds`;
  return [
    ...(seconds < minSeconds ? [invalidValue(field, seconds, 'may not specify a duration less than 10 minutes')] : []),
    ...(seconds > maxSeconds
      ? [invalidValue(field, seconds, 'may not specify a duration larger than 2^32 seconds')]
      : []),
    ...(path === '' ? [required(`${volume}.path`)] : filePathErrors(path, `${volume}.path`)),
  ];
}
