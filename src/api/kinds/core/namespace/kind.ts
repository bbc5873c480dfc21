import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidAll, invalidValue } from '../../../field-errors.ts';
import type { PartialWrite } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import { labelName, qualifiedNameErrors } from '../../../names.ts';
import type { Namespace } from './schema.ts';
import { namespace } from './schema.ts';

/** The label that contains the name, for selectors; every write sets it. */
const nameLabel = 'kubernetes.io/metadata.name';

/** The entry of spec.finalizers that the namespace controller removes when the namespace is empty. */
export const namespaceFinalizer = 'kubernetes';

/** PUT of `finalize`, which changes the finalizers in the spec. */
const finalize: PartialWrite<Namespace> = {
  prepare: ({ spec, metadata }, old) => ({ ...old, spec, metadata }),
  validate: updateErrors,
};

export const namespaceKind = defineKind<Namespace>({
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  shortNames: ['ns'],
  namespaced: false,
  schema: namespace,
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  hasStatus: true,
  deleteReturns: 'object',
  columns: [nameColumn, column('Status', 'Active or Terminating.', ({ status }) => status.phase ?? ''), ageColumn],
  subresources: [{ name: 'finalize', verbs: ['update'], write: finalize }],
  deletion: {
    // They contain the objects of the cluster itself.
    protectedNames: ['default', 'kube-system', 'kube-public'],
    finalizers: ({ spec }) => spec.finalizers ?? [],
    markTerminating,
  },
  selectableFields: { 'status.phase': ({ status }) => status.phase ?? '' },
  applyDefaults: (object) =>
    withNameLabel({ ...object, status: { ...object.status, phase: object.status.phase ?? 'Active' } }),
  prepareForCreate: (object) =>
    withNameLabel({
      ...object,
      spec: { ...object.spec, finalizers: withFinalizer(object) },
      status: { phase: 'Active' },
    }),
  prepareForUpdate: (object, old) => withNameLabel({ ...object, spec: old.spec, status: old.status }),
  nameErrors: labelName,
  validateCreate: (object) => finalizerErrors(object, () => 'spec.finalizers'),
  validateUpdate: updateErrors,
  validateStatus: phaseErrors,
});

// An object with generateName has no name yet: the server prepares it again after it generated the name.
function withNameLabel(object: Namespace): Namespace {
  const { name, labels } = object.metadata;
  if (name === undefined || labels?.[nameLabel] === name) return object;
  return { ...object, metadata: { ...object.metadata, labels: { ...labels, [nameLabel]: name } } };
}

function markTerminating({ metadata, ...namespace }: Namespace): Namespace {
  const { deletionGracePeriodSeconds: _, ...marked } = metadata;
  return { ...namespace, metadata: marked, status: { ...namespace.status, phase: 'Terminating' } };
}

function withFinalizer({ spec: { finalizers = [] } }: Namespace): readonly string[] {
  return finalizers.includes(namespaceFinalizer) ? finalizers : [...finalizers, namespaceFinalizer];
}

const standardFinalizers = new Set([namespaceFinalizer, 'orphan', 'foregroundDeletion']);

/** Validation errors of spec.finalizers. Only create and the finalize subresource can set it. */
function finalizerErrors({ spec }: Namespace, pathOf: (index: number) => string): readonly FieldError[] {
  return (spec.finalizers ?? []).flatMap((finalizer, index) => {
    const errors = invalidAll('spec.finalizers', finalizer, qualifiedNameErrors(finalizer));
    if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return errors;
    const problem = 'name is neither a standard finalizer name nor is it fully qualified';
    return [...errors, invalidValue(pathOf(index), finalizer, problem)];
  });
}

function updateErrors(object: Namespace): readonly FieldError[] {
  return finalizerErrors(object, (index) => `spec.finalizers[${index}]`);
}

function phaseErrors({ metadata, status: { phase } }: Namespace): readonly FieldError[] {
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const expected = isTerminating ? 'Terminating' : 'Active';
  if (phase === expected) return [];
  const when = isTerminating ? 'is not empty' : 'is empty';
  return [invalidValue('status.Phase', phase ?? '', `may only be '${expected}' if \`deletionTimestamp\` ${when}`)];
}
