import type { StatusError } from '../../api/errors.ts';
import { badRequest, failure } from '../../api/errors.ts';
import { goTypeOf, printGo } from './go-text.ts';
import type { JsonObject } from './json-value.ts';

export const badPrimitiveList = (): StatusError => badRequest('invalid patch format of primitive list');
export const badRetainKeys = (): StatusError => badRequest('invalid patch format of retainKeys');
export const badElementOrder = (): StatusError => badRequest('invalid patch format of setElementOrder list');

/** Kubernetes keeps the reason to itself. */
export const listOfLists = (): StatusError =>
  invalidPatch('the server rejected our request due to an error in our request');

// The rest is a 500 in Kubernetes, though the client is at fault: 422 is kinder, and says the same.

export const noMergeKey = (item: unknown, key: string): StatusError =>
  invalidPatch(`map: ${printGo(item)} does not contain declared merge key: ${key}`);

export const noItemMap = (item: unknown): StatusError =>
  invalidPatch(`expected a map[string]interface {}, but received a ${goTypeOf(item)}`);

export const unknownPatchType = (type: unknown, patch: JsonObject): StatusError =>
  invalidPatch(`unknown patch type: ${printGo(type)} in map: ${printGo(patch)}`);

export const mixedTypes = (...lists: readonly (readonly unknown[])[]): StatusError =>
  invalidPatch(`list element types are not identical: ${printGo(lists)}`);

export const noMergeKeyDeclared = (name: string): StatusError =>
  invalidPatch(`cannot merge lists without merge key for ${name}`);

export const orderMismatch = (patch: readonly unknown[], order: readonly unknown[]): StatusError =>
  invalidPatch(
    `The order in patch list:\n${printGo(patch)}\n doesn't match $setElementOrder list:\n${printGo(order)}\n`,
  );

const invalidPatch = (message: string): StatusError => failure({ code: 422, reason: 'Invalid', message, details: {} });
