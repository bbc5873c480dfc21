// Validates the metadata of objects; messages and paths are worded as in Kubernetes.
import type { FieldError } from './field-errors.ts';
import { forbiddenField, invalidAll, invalidValue, required, tooLong, tooMany } from './field-errors.ts';
import type { ManagedFieldsEntry, ObjectMeta, OwnerReference } from './metadata.ts';
import { dnsLabelErrors, labelValueErrors, qualifiedNameErrors } from './names.ts';

export interface MetadataRules {
  readonly namespaced: boolean;
  /** Finalizers need no domain. */
  readonly plainFinalizers?: boolean;
  /** Errors of a name, or of the prefix of a generated name. */
  nameErrors(name: string, isPrefix: boolean): readonly string[];
}

/** Errors in the metadata of a new object, after its name was generated. */
export function validateMetadataCreate(meta: ObjectMeta, rules: MetadataRules): FieldError[] {
  const errors: FieldError[] = [];
  const { name, generateName } = meta;
  if (generateName !== undefined && generateName !== '') {
    errors.push(...invalidAll('metadata.generateName', generateName, rules.nameErrors(generateName, true)));
  }
  if (name === undefined || name === '') {
    errors.push(required('metadata.name', 'name or generateName is required'));
  } else {
    errors.push(...invalidAll('metadata.name', name, rules.nameErrors(name, false)));
  }
  checkNamespace(errors, meta.namespace ?? '', rules.namespaced);
  if ((meta.generation ?? 0) < 0) {
    errors.push(invalidValue('metadata.generation', meta.generation, 'must be greater than or equal to 0'));
  }
  checkContent(errors, meta, { plainFinalizers: rules.plainFinalizers });
  return errors;
}

/** Errors in the metadata of a changed object. The caller checks the resource version. */
export function validateMetadataUpdate(
  next: ObjectMeta,
  old: ObjectMeta,
  rules: Pick<MetadataRules, 'plainFinalizers'> = {},
): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) checkNoNewFinalizers(errors, next.finalizers ?? [], old.finalizers ?? []);
  if ((next.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalidValue('metadata.generation', next.generation ?? 0, 'must not be decremented'));
  }
  for (const field of immutables) {
    if (next[field] === old[field]) continue;
    // Fields that are pointers in Kubernetes print as null if they are absent, others as an empty string.
    const value = next[field] ?? (field.startsWith('deletion') || field === 'creationTimestamp' ? null : '');
    errors.push(invalidValue(`metadata.${field}`, value, 'field is immutable'));
  }
  checkContent(errors, next, { known: old.managedFields?.length, ...rules });
  return errors;
}

const immutables = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;

/** Errors in labels or in a map selector. All errors have `path` itself, without the key. */
export function validateLabels(path: string, labels: Readonly<Record<string, string>> | undefined): FieldError[] {
  const errors: FieldError[] = [];
  checkLabels(errors, path, labels);
  return errors;
}

function checkNamespace(errors: FieldError[], namespace: string, namespaced: boolean): void {
  if (!namespaced) {
    if (namespace !== '') errors.push(forbiddenField('metadata.namespace', 'not allowed on this type'));
  } else if (namespace === '') {
    errors.push(required('metadata.namespace'));
  } else {
    errors.push(...invalidAll('metadata.namespace', namespace, dnsLabelErrors(namespace)));
  }
}

/** The server merges older entries of Update managers itself; entries of Apply managers count against this limit. */
const maxManagers = 100;

/** `known` is the number of managers that the object had before. */
function checkContent(
  errors: FieldError[],
  meta: ObjectMeta,
  {
    known = 0,
    plainFinalizers = false,
  }: { readonly known?: number | undefined; readonly plainFinalizers?: boolean | undefined },
): void {
  checkLabels(errors, 'metadata.labels', meta.labels);
  errors.push(...validateAnnotations('metadata.annotations', meta.annotations));
  if (meta.ownerReferences !== undefined) checkOwners(errors, meta.ownerReferences);
  if (meta.finalizers !== undefined) checkFinalizers(errors, meta.finalizers, plainFinalizers);
  if ((meta.managedFields?.length ?? 0) > Math.max(maxManagers, known)) {
    errors.push(tooMany('metadata.managedFields', meta.managedFields?.length ?? 0, maxManagers));
  }
  if (meta.managedFields !== undefined) checkManagedFields(errors, meta.managedFields);
}

function checkLabels(errors: FieldError[], path: string, labels: Readonly<Record<string, string>> | undefined): void {
  for (const key in labels) {
    const value = labels[key] ?? '';
    errors.push(...invalidAll(path, key, qualifiedNameErrors(key)));
    errors.push(...invalidAll(path, value, labelValueErrors(value)));
  }
}

const maxAnnotationBytes = 256 * 1024;

/** Validation errors of annotations at `path`. */
export function validateAnnotations(
  path: string,
  annotations: Readonly<Record<string, string>> | undefined,
): readonly FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const key in annotations) {
    errors.push(...invalidAll(path, key, qualifiedNameErrors(key.toLowerCase())));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(annotations[key] ?? '');
  }
  if (bytes > maxAnnotationBytes) errors.push(tooLong(path, maxAnnotationBytes));
  return errors;
}

/** Each error about a second controller prints the whole list, as in Kubernetes. Long lists are truncated. */
const maxPrintedOwners = 100;
const maxOwnerErrors = 100;

function checkOwners(errors: FieldError[], owners: readonly OwnerReference[]): void {
  const path = 'metadata.ownerReferences';
  let controller: string | undefined;
  for (const owner of owners) {
    if (errors.length >= maxOwnerErrors) return;
    checkOwner(errors, path, owner);
    if (owner.controller !== true) continue;
    const described = `${owner.kind}/${owner.name}`;
    if (controller === undefined) {
      controller = described;
      continue;
    }
    const detail = `Only one reference can have Controller set to true. Found "true" in references for ${controller} and ${described}`;
    errors.push(invalidValue(path, owners.slice(0, maxPrintedOwners).map(inGoOrder), detail));
  }
}

function checkOwner(errors: FieldError[], path: string, owner: OwnerReference): void {
  const [first = '', version = first, ...more] = owner.apiVersion.split('/');
  if (version === '' || more.length > 0)
    errors.push(invalidValue(`${path}.apiVersion`, owner.apiVersion, 'version must not be empty'));
  for (const field of ['kind', 'name', 'uid'] as const) {
    if (owner[field] === '') errors.push(invalidValue(`${path}.${field}`, '', 'must not be empty'));
  }
  if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
    errors.push(invalidValue(path, inGoOrder(owner), '/v1, Kind=Event is disallowed from being an owner'));
  }
}

/** Kubernetes prints values with their fields in the order of the Go type. */
const inGoOrder = ({ apiVersion, kind, name, uid, controller, blockOwnerDeletion }: OwnerReference): object => ({
  apiVersion,
  kind,
  name,
  uid,
  controller,
  blockOwnerDeletion,
});

const standardFinalizers: readonly string[] = ['kubernetes', 'orphan', 'foregroundDeletion'];

function checkFinalizers(errors: FieldError[], finalizers: readonly string[], isPlainAllowed: boolean): void {
  const path = 'metadata.finalizers';
  for (const finalizer of finalizers) errors.push(...invalidAll(path, finalizer, qualifiedNameErrors(finalizer)));
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    errors.push(invalidValue(path, finalizers, 'finalizer orphan and foregroundDeletion cannot be both set'));
  }
  if (isPlainAllowed) return;
  finalizers.forEach((finalizer, index) => {
    if (finalizer.includes('/') || standardFinalizers.includes(finalizer)) return;
    const detail = 'name is neither a standard finalizer name nor is it fully qualified';
    errors.push(invalidValue(`${path}[${index}]`, finalizer, detail));
  });
}

function checkNoNewFinalizers(errors: FieldError[], next: readonly string[], old: readonly string[]): void {
  const added = [...new Set(next).difference(new Set(old))].sort();
  if (added.length === 0) return;
  const printed = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  const detail = `no new finalizers can be added if the object is being deleted, found new finalizers ${printed}`;
  errors.push(forbiddenField('metadata.finalizers', detail));
}

const maxManagerBytes = 128;
const maxSubresourceBytes = 256;

function checkManagedFields(errors: FieldError[], entries: readonly ManagedFieldsEntry[]): void {
  entries.forEach(({ operation = '', fieldsType = '', manager = '', subresource = '' }, index) => {
    const path = `metadata.managedFields[${index}]`;
    if (operation !== 'Apply' && operation !== 'Update') {
      errors.push(invalidValue(`${path}.operation`, operation, 'must be `Apply` or `Update`'));
    }
    if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
      errors.push(invalidValue(`${path}.fieldsType`, fieldsType, 'must be `FieldsV1`'));
    }
    if (Buffer.byteLength(manager) > maxManagerBytes) errors.push(tooLong(`${path}.manager`, maxManagerBytes));
    if (/\p{C}/u.test(manager)) {
      errors.push(invalidValue(`${path}.manager`, manager, 'should only contain printable characters'));
    }
    if (Buffer.byteLength(subresource) > maxSubresourceBytes) {
      errors.push(tooLong(`${path}.subresource`, maxSubresourceBytes));
    }
  });
}
