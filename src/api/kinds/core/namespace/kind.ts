import { ageColumn, column, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { invalidValue } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import { labelName, qualifiedNameErrors } from '../../../names.ts';
import type { Namespace } from './schema.ts';
import { namespace } from './schema.ts';

/** The label by which selectors find a namespace by its name; every write sets it again. */
const nameLabel = 'kubernetes.io/metadata.name';

/** The entry of spec.finalizers that the namespace controller removes when the namespace is empty. */
export const namespaceFinalizer = 'kubernetes';

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
  subresources: [{ name: 'finalize', verbs: ['update'] }],
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
  validateUpdate: (object) => finalizerErrors(object, (index) => `spec.finalizers[${index}]`),
  validateStatus: phaseErrors,
});

// A name that is still to be generated has no label yet: the server prepares the object again once it has a name.
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

/** What is wrong with spec.finalizers, which only creation and the finalize endpoint can change; only the latter counts. */
function finalizerErrors({ spec }: Namespace, pathOf: (index: number) => string): readonly FieldError[] {
  return (spec.finalizers ?? []).flatMap((finalizer, index) => {
    const errors = qualifiedNameErrors(finalizer).map((problem) => invalidValue('spec.finalizers', finalizer, problem));
    if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return errors;
    const problem = 'name is neither a standard finalizer name nor is it fully qualified';
    return [...errors, invalidValue(pathOf(index), finalizer, problem)];
  });
}

function phaseErrors({ metadata, status: { phase } }: Namespace): readonly FieldError[] {
  const isGoing = metadata.deletionTimestamp !== undefined;
  const expected = isGoing ? 'Terminating' : 'Active';
  if (phase === expected) return [];
  const when = isGoing ? 'is not empty' : 'is empty';
  return [invalidValue('status.Phase', phase ?? '', `may only be '${expected}' if \`deletionTimestamp\` ${when}`)];
}
