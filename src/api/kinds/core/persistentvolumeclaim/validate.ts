import { isDeepStrictEqual } from 'node:util';

import type { FieldError } from '../../../field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, notSupported, required } from '../../../field-errors.ts';
import { dnsLabelErrors, dnsSubdomainErrors } from '../../../names.ts';
import { isWhole, parseQuantity, printQuantity, zero } from '../../../quantity.ts';
import { labelSelectorErrors } from '../../../selectors/label-selector.ts';
import { accessModeErrors, classAnnotation, volumeModes } from '../access-modes.ts';
import type { PersistentVolumeClaim } from '../pod/claim.ts';

type Spec = PersistentVolumeClaim['spec'];

/** Validation errors of the spec of a claim at `path`. */
export function claimSpecErrors(spec: Spec, path: string): readonly FieldError[] {
  const { accessModes = [], selector, storageClassName = '', volumeMode, volumeAttributesClassName = '' } = spec;
  return [
    ...(accessModes.length === 0 ? [required(`${path}.accessModes`, 'at least 1 access mode is required')] : []),
    ...(selector === undefined ? [] : labelSelectorErrors(`${path}.selector`, selector)),
    ...accessModeErrors(accessModes, `${path}.accessModes`),
    ...sizeErrors(spec, `${path}.resources[storage]`),
    ...(storageClassName === ''
      ? []
      : invalidAll(`${path}.storageClassName`, storageClassName, dnsSubdomainErrors(storageClassName))),
    ...(volumeMode === undefined || volumeModes.includes(volumeMode)
      ? []
      : [notSupported(`${path}.volumeMode`, volumeMode, volumeModes)]),
    ...sourceErrors(spec, path),
    ...(volumeAttributesClassName === ''
      ? []
      : invalidAll(
          `${path}.volumeAttributesClassName`,
          volumeAttributesClassName,
          dnsSubdomainErrors(volumeAttributesClassName),
        )),
  ];
}

function sizeErrors({ resources }: Spec, path: string): readonly FieldError[] {
  const size = resources.requests?.['storage'];
  if (size === undefined) return [required(path)];
  return parseQuantity(String(size)).nano > 0n ? [] : [invalidValue(path, size, 'must be greater than zero')];
}

function sourceErrors({ dataSource, dataSourceRef }: Spec, path: string): readonly FieldError[] {
  const errors: FieldError[] = [];
  for (const [field, source] of Object.entries({ dataSource, dataSourceRef })) {
    if (source === undefined) continue;
    const { apiGroup = '', kind, name } = source;
    const at = `${path}.${field}`;
    if (name === '') errors.push(required(`${at}.name`));
    if (kind === '') errors.push(required(`${at}.kind`));
    if (apiGroup === '' && kind !== 'PersistentVolumeClaim') {
      errors.push(invalidValue(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup"));
    }
    if (apiGroup !== '') errors.push(...invalidAll(`${at}.apiGroup`, apiGroup, dnsSubdomainErrors(apiGroup)));
  }
  const namespace = dataSourceRef?.namespace ?? '';
  if (namespace !== '')
    errors.push(...invalidAll(`${path}.dataSourceRef.namespace`, namespace, dnsLabelErrors(namespace)));
  if (dataSource === undefined || dataSourceRef === undefined) return errors;
  const isSame = (['apiGroup', 'kind', 'name'] as const).every((field) => dataSource[field] === dataSourceRef[field]);
  if (namespace !== '') {
    errors.push(
      invalidValue(path, `${path}.dataSource`, 'may not be specified when dataSourceRef.namespace is specified'),
    );
  } else if (!isSame) errors.push(invalidValue(path, `${path}.dataSource`, 'must match dataSourceRef'));
  return errors;
}

/** Validation errors of a changed claim: only the size and the attributes class of a bound claim can change. */
export function claimUpdateErrors(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): readonly FieldError[] {
  const errors = [...claimSpecErrors(claim.spec, 'spec')];
  const annotation = claim.metadata.annotations?.[classAnnotation] ?? '';
  if (annotation !== (old.metadata.annotations?.[classAnnotation] ?? '') && !namesOldClass(claim, old)) {
    errors.push(invalidValue(`metadata.annotations[${classAnnotation}]`, annotation, 'field is immutable'));
  }
  const changed = changedFields(comparable(claim, old), old.spec);
  if (changed.length > 0) {
    const detail = `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${changed.join('\n')}`;
    errors.push(forbiddenField('spec', detail));
  }
  const sizeOf = (amount: string | number | undefined): bigint =>
    (amount === undefined ? zero : parseQuantity(String(amount))).nano;
  const size = sizeOf(claim.spec.resources.requests?.['storage']);
  const isSmaller = size < sizeOf(old.spec.resources.requests?.['storage']);
  if (isSmaller && size <= sizeOf(old.status.capacity?.['storage'])) {
    errors.push(forbiddenField('spec.resources.requests.storage', 'field can not be less than status.capacity'));
  }
  if (claim.spec.volumeMode !== old.spec.volumeMode) {
    errors.push(invalidValue('volumeMode', claim.spec.volumeMode ?? null, 'field is immutable'));
  }
  const { volumeAttributesClassName: next } = claim.spec;
  if (old.status.currentVolumeAttributesClassName !== undefined && !next) {
    const to = next === undefined ? 'nil' : 'empty string';
    const detail = `update to ${to} is forbidden when status.currentVolumeAttributesClassName is not nil`;
    errors.push(forbiddenField('spec.volumeAttributesClassName', detail));
  }
  return errors;
}

/** Whether the class moves from the annotation into the field. */
function namesOldClass(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): boolean {
  const before = old.metadata.annotations?.[classAnnotation];
  const now = claim.metadata.annotations?.[classAnnotation] ?? before;
  if (before === undefined || old.spec.storageClassName !== undefined) return false;
  return claim.spec.storageClassName === before && now === before;
}

/** The new spec with the old values of fields that may change. */
function comparable(claim: PersistentVolumeClaim, old: PersistentVolumeClaim): Spec {
  const { volumeName, storageClassName, volumeAttributesClassName, resources, ...spec } = claim.spec;
  const before = old.spec;
  const isBound = claim.status.phase === 'Bound';
  const annotation = old.metadata.annotations?.[classAnnotation];
  const isNewClass =
    before.storageClassName === undefined && (annotation === undefined || annotation === storageClassName);
  const { requests } = resources;
  const storage = before.resources.requests?.['storage'];
  return {
    ...spec,
    resources:
      isBound && requests !== undefined && storage !== undefined
        ? { ...resources, requests: { ...requests, storage } }
        : resources,
    ...optionalField('volumeName', before.volumeName ? volumeName : before.volumeName),
    ...optionalField('storageClassName', isNewClass ? before.storageClassName : storageClassName),
    ...optionalField(
      'volumeAttributesClassName',
      isBound ? before.volumeAttributesClassName : volumeAttributesClassName,
    ),
  };
}

const optionalField = (name: string, value: string | undefined): object =>
  value === undefined ? {} : { [name]: value };

/** The fields that differ, as lines with the old and the new value. */
const changedFields = (next: Spec, old: Spec): readonly string[] =>
  [...new Set([...Object.keys(old), ...Object.keys(next)])].flatMap((field) => {
    const [before, after]: unknown[] = [Reflect.get(old, field), Reflect.get(next, field)];
    if (isDeepStrictEqual(before, after)) return [];
    return [
      ...(before === undefined ? [] : [`- ${field}: ${JSON.stringify(before)}`]),
      ...(after === undefined ? [] : [`+ ${field}: ${JSON.stringify(after)}`]),
    ];
  });

const resizeStates: readonly string[] = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

/** Validation errors of a changed status. */
export function claimStatusErrors({ status }: PersistentVolumeClaim): readonly FieldError[] {
  const negative = (field: 'capacity' | 'allocatedResources'): readonly FieldError[] =>
    Object.entries(status[field] ?? {})
      .filter(([, amount]) => parseQuantity(String(amount)).nano < 0n)
      .map(([name, amount]) => invalidValue(`status.${field}[${name}]`, amount, 'must be a valid resource quantity'));
  return [
    ...negative('capacity'),
    ...Object.entries(status.allocatedResourceStatuses ?? {})
      .filter(([, state]) => !resizeStates.includes(state))
      .map(([name]) => notSupported('status.allocatedResourceStatuses', name, resizeStates)),
    ...negative('allocatedResources'),
  ];
}

/** Warnings about a claim that is accepted. */
export function claimWarnings({ metadata, spec: { resources } }: PersistentVolumeClaim): readonly string[] {
  const isDeprecated = metadata.annotations?.[classAnnotation] !== undefined;
  return [
    ...(isDeprecated
      ? [`metadata.annotations[${classAnnotation}]: deprecated since v1.8; use "storageClassName" attribute instead`]
      : []),
    ...(['requests', 'limits'] as const).flatMap((field) => {
      const amount = resources[field]?.['storage'];
      if (amount === undefined) return [];
      const size = parseQuantity(String(amount));
      if (isWhole(size)) return [];
      const text = JSON.stringify(printQuantity(size));
      return [`spec.resources.${field}[storage]: fractional byte value ${text} is invalid, must be an integer`];
    }),
  ];
}
