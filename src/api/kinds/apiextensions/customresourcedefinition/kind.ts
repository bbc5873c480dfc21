import { createdAtColumn, nameColumn } from '../../../columns.ts';
import type { FieldError } from '../../../field-errors.ts';
import { defineKind } from '../../../kind.ts';
import type { Kind } from '../../../kind.ts';
import { dnsSubdomainErrors } from '../../../names.ts';
import { decode } from '../../../schema/decode.ts';
import { formatCheck } from '../../../structural/formats.ts';
import { everySchema } from '../../../structural/json-schema.ts';
import { conditionOf, withCondition } from './conditions.ts';
import type { CrdConversion, CustomResourceDefinition } from './schema.ts';
import { customResourceDefinition } from './schema.ts';
import { nameErrors, validateCreate, validateUpdate } from './validate.ts';
import { acceptedNameErrors } from './validate-names.ts';
import { fromV1beta1 } from './v1beta1.ts';

/** The finalizer that keeps a definition until its objects are deleted. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io';

/** CustomResourceDefinition of apiextensions.k8s.io/v1. */
export const customResourceDefinitionKind: Kind<CustomResourceDefinition> = defineKind<CustomResourceDefinition>({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  namespaced: false,
  schema: customResourceDefinition,
  hasStatus: true,
  generation: 'spec',
  unconditionalUpdate: false,
  deleteReturns: 'object',
  plainFinalizers: true,
  columns: [nameColumn, createdAtColumn],
  resets: { status: [['spec'], ['metadata']] },
  deletion: {
    // The server adds the finalizer when the definition is deleted.
    finalizers: ({ metadata }) => (metadata.deletionTimestamp === undefined ? [cleanupFinalizer] : []),
    markTerminating,
  },
  applyDefaults,
  readStored: (value) =>
    applyDefaults(decode<CustomResourceDefinition>(customResourceDefinition, fromV1beta1(value)).object),
  prepareForCreate: (object) =>
    withStoredVersion({
      ...object,
      status: { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: null },
    }),
  prepareForUpdate: (object) => withStoredVersion(object),
  nameErrors: (name) => [...dnsSubdomainErrors(name)],
  validateCreate: (object) => [...nameErrors(object), ...validateCreate(object)],
  validateUpdate,
  validateStatus: ({ status }): readonly FieldError[] =>
    acceptedNameErrors(status.acceptedNames, 'status.acceptedNames'),
  warnings: (object, old) => {
    const before = new Set(old === undefined ? [] : unknownFormats(old));
    return unknownFormats(object)
      .filter((format) => !before.has(format))
      .map((format) => `unrecognized format ${JSON.stringify(format)}`);
  },
});

function applyDefaults(object: CustomResourceDefinition): CustomResourceDefinition {
  const { spec } = object;
  const { kind, singular = kind.toLowerCase(), listKind = kind === '' ? undefined : `${kind}List` } = spec.names;
  const { plural, shortNames, categories } = spec.names;
  return {
    ...object,
    spec: {
      ...spec,
      names: {
        plural,
        ...(singular === '' ? {} : { singular }),
        ...(shortNames && { shortNames }),
        kind,
        ...(listKind === undefined ? {} : { listKind }),
        ...(categories && { categories }),
      },
      conversion: spec.conversion === undefined ? { strategy: 'None' } : withDefaultPort(spec.conversion),
    },
    status: withStoredVersion(object, 'if none').status,
  };
}

function withDefaultPort(conversion: CrdConversion): CrdConversion {
  const { webhook } = conversion;
  const service = webhook?.clientConfig?.service;
  if (service === undefined) return conversion;
  const clientConfig = { ...webhook?.clientConfig, service: { port: 443, ...service } };
  return { ...conversion, webhook: { conversionReviewVersions: null, ...webhook, clientConfig } };
}

/** Adds the storage version to the versions in which objects may be stored. */
function withStoredVersion(
  object: CustomResourceDefinition,
  when: 'always' | 'if none' = 'always',
): CustomResourceDefinition {
  const stored = object.status.storedVersions ?? [];
  const storage = (object.spec.versions ?? []).find((version) => version.storage)?.name;
  if (storage === undefined || stored.includes(storage) || (when === 'if none' && stored.length > 0)) return object;
  return { ...object, status: { ...object.status, storedVersions: [...stored, storage] } };
}

function markTerminating(crd: CustomResourceDefinition): CustomResourceDefinition {
  const { finalizers = [], deletionGracePeriodSeconds: _, ...metadata } = crd.metadata;
  if (conditionOf(crd, 'Terminating') !== undefined) return crd;
  const marked = {
    ...crd,
    metadata: {
      ...metadata,
      finalizers: finalizers.includes(cleanupFinalizer) ? finalizers : [...finalizers, cleanupFinalizer],
    },
  };
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  };
  return withCondition(marked, condition, crd.metadata.deletionTimestamp ?? '');
}

/** The formats of strings in the schemas that are not checked. */
const unknownFormats = ({ spec }: CustomResourceDefinition): readonly string[] => [
  ...new Set(
    (spec.versions ?? []).flatMap(({ schema }) =>
      everySchema(schema?.openAPIV3Schema).flatMap(({ type, format = '' }) =>
        type === 'string' && format !== '' && formatCheck(format) === undefined ? [format] : [],
      ),
    ),
  ),
];
