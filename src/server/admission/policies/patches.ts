// The changes that the expressions of mutating policies evaluate to.

import { jsonOf, typeNameErrors } from '../../../api/cel/json.ts';
import type { Value } from '../../../api/cel/values.ts';
import { CelError, CelList, CelMap, Constructed } from '../../../api/cel/values.ts';
import { messageOf } from '../../../api/error-message.ts';
import { StatusError } from '../../../api/errors.ts';
import { isJsonObject } from '../../../api/schema/json-object.ts';
import type { Schema, StructSchema } from '../../../api/schema/schema.ts';
import type { JsonObject } from '../../patch/json-value.ts';
import { applyJsonPatch, PatchTestFailed } from '../../patch/json-patch.ts';
import { ItemError } from '../../patch/fields/items.ts';
import { mergeConfiguration } from '../../patch/fields/merge.ts';
import { typeErrors } from '../../patch/fields/typed.ts';
import type { ChangeDocument } from '../mutation-round.ts';

/** A mutation that cannot be applied; the failure policy decides about the write. */
export class MutationError extends Error {}

/** The change of an object by the value of an expression. Throws a `MutationError` if the value is not a change. */
export function documentChange(patchType: string, value: Value): ChangeDocument {
  const json = jsonFor(patchType, value);
  if (patchType === 'JSONPatch') return (document) => patchDocument(document, json);
  if (!isJsonObject(json)) throw new MutationError('unsupported return type from ApplyConfiguration expression');
  return (document, schema) => mergeDocument(document, json, schema);
}

function jsonFor(patchType: string, value: Value): unknown {
  try {
    if (patchType === 'JSONPatch') return operationsOf(value);
    requireTypeNames(value);
    return jsonOf(value);
  } catch (error) {
    if (error instanceof CelError) throw new MutationError(error.message);
    throw error;
  }
}

function requireTypeNames(value: Value): void {
  const errors = typeNameErrors(value, ['Object']);
  if (errors.length > 0) throw new MutationError(`type mismatch: ${errors.join('\n')}`);
}

function operationsOf(value: Value): readonly unknown[] {
  if (!(value instanceof CelList)) {
    throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array');
  }
  return value.items.map((operation) => {
    if (!(operation instanceof CelMap)) {
      throw new MutationError('type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch');
    }
    const set = operation.get('value');
    if (set instanceof Constructed && set.typeName !== 'JSONPatch') {
      const errors = typeNameErrors(set, [set.typeName]);
      if (errors.length > 0) throw new MutationError(`type mismatch: ${errors.join('\n')}`);
    }
    return jsonOf(operation);
  });
}

/** Applies a patch. If one of its tests fails, nothing changes. */
function* patchDocument(document: JsonObject, operations: unknown): Generator<void, unknown> {
  try {
    return yield* applyJsonPatch(document, operations);
  } catch (error) {
    if (error instanceof PatchTestFailed) return document;
    if (error instanceof StatusError) throw new MutationError(`JSON Patch: ${messageOf(error)}`);
    throw error;
  }
}

/** Merges a configuration like server-side apply, but without an owner. */
function* mergeDocument(document: JsonObject, config: JsonObject, schema: StructSchema): Generator<void, unknown> {
  const errors = typeErrors(config, schema);
  if (errors.length > 0) {
    const listed = errors.length === 1 ? errors.join() : ['errors:', ...errors.map((each) => `  ${each}`)].join('\n');
    throw new MutationError(`error applying patch: failed to convert patch object to typed object: ${listed}`);
  }
  const atomics = atomicPaths('', config, schema);
  if (atomics.length > 0) {
    const why = `may not mutate atomic arrays, maps or structs: ${atomics.join(', ')}`;
    throw new MutationError(`error applying patch: invalid ApplyConfiguration: ${why}`);
  }
  yield;
  try {
    return mergeConfiguration(document, config, schema);
  } catch (error) {
    if (!(error instanceof ItemError)) throw error;
    throw new MutationError(
      `error applying patch: failed to convert original object to typed object: ${error.message}`,
    );
  }
}

/**
 * The paths of the lists, maps and structs in a configuration that apply would replace as a whole. Kubernetes rejects
 * them, since fields that the configuration does not set would be removed.
 */
function atomicPaths(path: string, value: unknown, schema: Schema): readonly string[] {
  if (schema.type === 'opaque') return atomicPaths(path, value, schema.merged);
  if (Array.isArray(value) && schema.type === 'list') {
    return [
      ...(schema.listType === 'atomic' ? [path] : []),
      ...value.flatMap((item, index) => atomicPaths(`${path}[${index}]`, item, schema.items)),
    ];
  }
  if (!isJsonObject(value) || (schema.type !== 'struct' && schema.type !== 'map')) return [];
  return [
    ...(schema.atomic ? [path] : []),
    ...Object.entries(value).flatMap(([name, each]) => {
      const below = schema.type === 'map' ? undefined : schema.fields[name]?.schema;
      return below === undefined ? [] : atomicPaths(`${path}.${name}`, each, below);
    }),
  ];
}
