// Validates environment variables and their sources as Kubernetes does.
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue, notFound, required } from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors, subdomainName } from '../../../names.ts';
import { dataKeyErrors } from '../configmap/data.ts';
import { backstepErrors } from '../volume-errors.ts';
import type { Container } from './schema.ts';
import { fieldErrors, resourceFieldErrors } from './validate-field-references.ts';

type Variable = NonNullable<Container['env']>[number];
type Source = NonNullable<Variable['valueFrom']>;

const printable = /^[\x20-\x3c\x3e-\x7e]+$/;
const badVariable = "a valid environment variable name must consist only of printable ASCII characters other than '='";

const nameErrors = (name: string, path: string): readonly FieldError[] =>
  printable.test(name) ? [] : [invalidValue(path, name, badVariable)];

/** Validation errors of the environment of a container at `path`. */
export const environmentErrors = ({ env = [], envFrom = [] }: Container, path: string): readonly FieldError[] => [
  ...env.flatMap((variable, index) => variableErrors(variable, `${path}.env[${index}]`)),
  ...envFrom.flatMap((each, index) => allKeysErrors(each, `${path}.envFrom`, index)),
];

const variableErrors = ({ name, value = '', valueFrom }: Variable, at: string): readonly FieldError[] => [
  ...(name === '' ? [required(`${at}.name`)] : nameErrors(name, `${at}.name`)),
  ...(valueFrom === undefined ? [] : sourceErrors(valueFrom, `${at}.valueFrom`, value !== '')),
];

const fields: readonly string[] = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
];

function sourceErrors(source: Source, path: string, hasValue: boolean): readonly FieldError[] {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  const count = Object.values(source).filter((each) => each !== undefined).length;
  return [
    ...(fieldRef === undefined ? [] : fieldErrors(fieldRef, `${path}.fieldRef`, fields)),
    ...(resourceFieldRef === undefined ? [] : resourceFieldErrors(resourceFieldRef, `${path}.resourceFieldRef`)),
    ...(configMapKeyRef === undefined ? [] : keyErrors(configMapKeyRef, `${path}.configMapKeyRef`)),
    ...(secretKeyRef === undefined ? [] : keyErrors(secretKeyRef, `${path}.secretKeyRef`)),
    ...(fileKeyRef === undefined ? [] : fileKeyErrors(fileKeyRef, `${path}.fileKeyRef`)),
    ...countErrors(count, path, hasValue),
  ];
}

function countErrors(count: number, path: string, hasValue: boolean): readonly FieldError[] {
  if (count === 0) {
    const words = '`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`';
    return [invalidValue(path, '', `must specify one of: ${words}`)];
  }
  if (hasValue) return [invalidValue(path, '', 'may not be specified when `value` is not empty')];
  return count > 1 ? [invalidValue(path, '', 'may not have more than one field specified at a time')] : [];
}

const keyErrors = ({ name = '', key }: NonNullable<Source['secretKeyRef']>, path: string): readonly FieldError[] => [
  ...invalidAll(`${path}.name`, name, dnsSubdomainErrors(name)),
  ...(key === '' ? [required(`${path}.key`)] : invalidAll(`${path}.key`, key, dataKeyErrors(key))),
];

const fileKeyErrors = (
  { key, volumeName, path: file }: NonNullable<Source['fileKeyRef']>,
  path: string,
): readonly FieldError[] => [
  ...(key === '' ? [required(`${path}.key`)] : nameErrors(key, `${path}.key`)),
  ...(volumeName === ''
    ? [required(`${path}.volumeName`)]
    : invalidAll(`${path}.volumeName`, volumeName, dnsLabelErrors(volumeName))),
  ...(file === '' ? [required(`${path}.path`)] : backstepErrors(file, `${path}.path`)),
];

/** Errors of a source whose keys are all variables; those about their number have the path of the list. */
function allKeysErrors(
  { prefix = '', configMapRef, secretRef }: NonNullable<Container['envFrom']>[number],
  list: string,
  index: number,
): readonly FieldError[] {
  const at = `${list}[${index}]`;
  const given = Object.entries({ configMapRef, secretRef }).flatMap(([field, reference]) =>
    reference === undefined ? [] : [{ path: `${at}.${field}.name`, name: reference.name ?? '' }],
  );
  return [
    ...(prefix === '' ? [] : nameErrors(prefix, `${at}.prefix`)),
    ...given.flatMap(({ path, name }) =>
      name === '' ? [required(path)] : invalidAll(path, name, subdomainName(name, true)),
    ),
    ...(given.length === 0 ? [invalidValue(list, '', 'must specify one of: `configMapRef` or `secretRef`')] : []),
    ...(given.length > 1 ? [invalidValue(list, '', 'may not have more than one field specified at a time')] : []),
  ];
}

/** Errors of variables from files whose volume is not an emptyDir; upstream reports them after all others. */
export function fileVariableErrors(
  { env = [] }: Container,
  path: string,
  volumes: ReadonlyMap<string, { readonly emptyDir?: unknown }>,
): readonly FieldError[] {
  return env.flatMap(({ valueFrom }, index) => {
    const { volumeName } = valueFrom?.fileKeyRef ?? {};
    if (volumeName === undefined) return [];
    const at = `${path}.env[${index}].valueFrom.fileKeyRef.volumeName`;
    const volume = volumes.get(volumeName);
    if (volume === undefined) return [notFound(at, volumeName)];
    return volume.emptyDir === undefined
      ? [invalidValue(at, volumeName, 'referenced volume must be of type emptyDir')]
      : [];
  });
}
