// Makes kinds of a CustomResourceDefinition: one for each served version.

import { age, column, customAgeColumn, nameColumn } from '../../../columns.ts';
import type { Column, Conversion, FieldValue, Kind } from '../../../kind.ts';
import { defineKind } from '../../../kind.ts';
import type { ApiObject } from '../../../metadata.ts';
import type { StructSchema } from '../../../schema/schema.ts';
import { decode } from '../../../schema/decode.ts';
import { isJsonObject } from '../../../schema/json-object.ts';
import { withDefaults } from '../../../structural/defaults.ts';
import { parseJsonPath } from '../../../structural/json-path.ts';
import type { JsonSchema } from '../../../structural/json-schema.ts';
import { customObjectSchema, openObjectSchema } from '../../../structural/object-schema.ts';
import { qualifiedNameErrors } from '../../../names.ts';
import { scaleSubresource } from '../../autoscaling/scale/kind.ts';
import { instanceValidation } from './instance-validation.ts';
import type { CrdColumn, CrdScale, CrdVersion, CustomResourceDefinition } from './schema.ts';

/** A version that is not in the list is not served. */
type Versions = ReadonlyMap<string, Kind>;

/** The kinds of the served versions of an established definition, the storage version first. */
export function servedKinds(crd: CustomResourceDefinition): readonly Kind[] {
  const versions = crd.spec.versions ?? [];
  const storage = versions.find((version) => version.storage);
  if (storage === undefined) return [];
  const known = new Map<string, Kind>();
  const stored = kindOf(crd, storage, undefined, known);
  known.set(storage.name, stored);
  for (const version of versions) {
    if (!known.has(version.name)) known.set(version.name, kindOf(crd, version, stored, known));
  }
  // The storage version has the cache, so it comes first even if it is not served.
  return [stored, ...versions.filter(({ name }) => name !== storage.name).flatMap(({ name }) => known.get(name) ?? [])];
}

/** Whether requests for a version are answered. */
export const isServedVersion = ({ spec }: CustomResourceDefinition, name: string): boolean =>
  (spec.versions ?? []).some((version) => version.name === name && version.served);

const noSchema: JsonSchema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };

function kindOf(crd: CustomResourceDefinition, version: CrdVersion, storage: Kind | undefined, known: Versions): Kind {
  const { group, scope } = crd.spec;
  const { plural, singular, kind, listKind, shortNames = [], categories = [] } = crd.status.acceptedNames;
  const given = version.schema?.openAPIV3Schema;
  const declared = given ?? noSchema;
  const name = `${group.split('.').reverse().join('.')}.${version.name}.${kind}`;
  const schema = given === undefined ? openObjectSchema(name) : customObjectSchema(name, given);
  const { status, scale } = version.subresources ?? {};
  const isWebhook = crd.spec.conversion?.strategy === 'Webhook';
  const validation = instanceValidation(declared, scale);
  const applyDefaults = (object: ApiObject): ApiObject => withDefaults(object, declared) as ApiObject; // keeps the metadata
  return defineKind({
    group,
    version: version.name,
    kind,
    plural,
    ...(singular === undefined ? {} : { singular }),
    ...(listKind === undefined ? {} : { listKind }),
    shortNames,
    categories,
    namespaced: scope === 'Namespaced',
    schema,
    source: () => JSON.stringify([crd.spec, crd.status.acceptedNames]),
    custom: true,
    hasStatus: status !== undefined,
    generation: 'content',
    unconditionalUpdate: false,
    columns: columnsOf(version.additionalPrinterColumns),
    selectableFields: Object.fromEntries(
      (version.selectableFields ?? []).map(({ jsonPath }) => [jsonPath.replace(/^\./, ''), fieldValue(jsonPath)]),
    ),
    ...(scale === undefined ? {} : scaleOf(scale)),
    ...(version.deprecated === true
      ? { deprecation: version.deprecationWarning ?? `${group}/${version.name} ${kind} is deprecated` }
      : {}),
    ...(isWebhook ? { webhookVersions: known } : {}),
    ...(storage === undefined || isWebhook
      ? { readStored: (value) => readStored(value, known, schema, applyDefaults) }
      : {}),
    ...(storage === undefined ? {} : { storage: isWebhook ? byWebhook(storage) : byName(storage, schema) }),
    applyDefaults,
    prepareForCreate: status === undefined ? (object) => object : withoutStatus,
    warnings: ({ metadata }, old) => finalizerWarnings(metadata.finalizers, old?.metadata.finalizers),
    ...validation,
  });
}

function withoutStatus(object: ApiObject): ApiObject {
  const { status: _, ...rest } = object as ApiObject & { readonly status?: unknown };
  return rest;
}

/** The strategy None: only the version changes, and fields that the other version lacks are dropped. */
const byName = (storage: Kind, schema: StructSchema): Conversion => ({
  kind: storage,
  toStorage: (object) => converted(object, storage.schema),
  fromStorage: (object) => converted(object, schema),
});

function byWebhook(storage: Kind): Conversion {
  const fail = (): never => {
    throw new Error(`bug: objects of ${storage.kind} are converted by a webhook`);
  };
  return { kind: storage, toStorage: fail, fromStorage: fail };
}

/** The object with the fields that another version of it has. */
function converted(object: ApiObject, schema: StructSchema): ApiObject {
  const { apiVersion: _, kind: __, ...rest } = decode<ApiObject>(schema, object).object;
  return rest;
}

function readStored(
  value: unknown,
  known: Versions,
  schema: StructSchema,
  applyDefaults: (object: ApiObject) => ApiObject,
): ApiObject {
  const apiVersion = isJsonObject(value) ? String(value['apiVersion']) : '';
  const version = apiVersion.slice(apiVersion.lastIndexOf('/') + 1);
  const source = known.get(version);
  if (source === undefined)
    throw new Error(`version ${version} is not in the versions of the CustomResourceDefinition`);
  const read = source.applyDefaults(decode<ApiObject>(source.schema, value).object);
  return source.schema === schema ? read : applyDefaults(decode<ApiObject>(schema, read).object);
}

/** A path of names, such as `.spec.replicas`. */
const namesOf = (path: string): readonly string[] => path.replace(/^\./, '').split('.');

const scaleOf = ({ specReplicasPath, statusReplicasPath, labelSelectorPath }: CrdScale): Partial<Kind> => ({
  subresources: [scaleSubresource],
  scalePaths: { desired: namesOf(specReplicasPath), observed: namesOf(statusReplicasPath) },
  ...(labelSelectorPath === undefined ? {} : { scaleSelector: fieldValue(labelSelectorPath) }),
});

/** The value at a path as text; '' if there is none. */
function fieldValue(path: string): FieldValue<ApiObject> {
  const follow = parseJsonPath(path);
  return (object) => {
    const value = follow?.(object)[0];
    return value === undefined || value === null ? '' : textOf(value);
  };
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

function columnsOf(columns: readonly CrdColumn[] = []): readonly Column[] {
  if (columns.length === 0) return [nameColumn, customAgeColumn];
  return [nameColumn, ...columns.map(columnOf)];
}

const defaultDescription = (path: string): string => `Custom resource definition column (in JSONPath format): ${path}`;

function columnOf({ name, type, format = '', description, priority = 0, jsonPath }: CrdColumn): Column {
  const follow = parseJsonPath(jsonPath);
  const cell = (object: ApiObject, now: number): string | number | boolean | null => {
    const value = follow?.(object)[0];
    return value === undefined || value === null ? null : cellOf(value, type, now);
  };
  const text = description === undefined || description === '' ? defaultDescription(jsonPath) : description;
  // The types were validated.
  return { ...column(name, text, cell, { type: type as Column['type'], format }), priority };
}

function cellOf(value: unknown, type: string, now: number): string | number | boolean | null {
  switch (type) {
    case 'string':
      return textOf(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : age(value, now);
    default:
      return null;
  }
}

const standardFinalizers: readonly string[] = ['orphan', 'foregroundDeletion', 'kubernetes'];

/** Warnings about the names of finalizers that a write adds. */
function finalizerWarnings(next: readonly string[] = [], before: readonly string[] = []): readonly string[] {
  const added = [...new Set(next)].filter((name) => !before.includes(name)).sort();
  return added.flatMap((name) => {
    const shown = `metadata.finalizers: ${JSON.stringify(name)}: `;
    const warnings = qualifiedNameErrors(name).map((problem) => shown + problem);
    if (name.includes('/') || standardFinalizers.includes(name)) return warnings;
    const path = name.includes('.') ? ' including a path (/)' : '';
    return [
      ...warnings,
      `${shown}prefer a domain-qualified finalizer name${path} to avoid accidental conflicts with other finalizer writers`,
    ];
  });
}
