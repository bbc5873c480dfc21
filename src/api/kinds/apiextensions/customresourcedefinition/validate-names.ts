import type { FieldError } from '../../../field-errors.ts';
import { invalidValue, required } from '../../../field-errors.ts';
import { dns1035LabelErrors } from '../../../names.ts';
import type { CrdNames } from './schema.ts';

/** The errors of names that are set. */
export function acceptedNameErrors(names: CrdNames, path: string): FieldError[] {
  const { plural, singular = '', kind, listKind = '', shortNames = [], categories = [] } = names;
  const mixed = 'may have mixed case, but should otherwise match: ';
  return [
    ...labelErrors(`${path}.plural`, plural),
    ...labelErrors(`${path}.singular`, singular),
    ...labelErrors(`${path}.kind`, kind, { checked: kind.toLowerCase(), prefix: mixed }),
    ...labelErrors(`${path}.listKind`, listKind, { checked: listKind.toLowerCase(), prefix: mixed }),
    ...shortNames.flatMap((name, index) => requiredLabelErrors(`${path}.shortNames[${index}]`, name)),
    ...(kind !== '' && kind === listKind
      ? [invalidValue(`${path}.listKind`, listKind, 'kind and listKind may not be the same')]
      : []),
    ...categories.flatMap((name, index) => requiredLabelErrors(`${path}.categories[${index}]`, name)),
  ];
}

/** The errors of the names that a definition requests. */
export function requestedNameErrors(names: CrdNames, path: string): FieldError[] {
  const needed = (['plural', 'singular', 'kind', 'listKind'] as const).filter((name) => (names[name] ?? '') === '');
  return [...needed.map((name) => required(`${path}.${name}`)), ...acceptedNameErrors(names, path)];
}

const labelErrors = (
  path: string,
  name: string,
  { checked = name, prefix = '' }: { readonly checked?: string; readonly prefix?: string } = {},
): FieldError[] => (name === '' ? [] : requiredLabelErrors(path, name, { checked, prefix }));

function requiredLabelErrors(path: string, name: string, { checked = name, prefix = '' } = {}): FieldError[] {
  const errors = dns1035LabelErrors(checked);
  return errors.length === 0 ? [] : [invalidValue(path, name, prefix + errors.join(','))];
}
