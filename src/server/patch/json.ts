import { badRequest, failure } from '../../api/errors.ts';
import type { StatusError } from '../../api/errors.ts';
import type { JsonObject } from './json-value.ts';
import { equalJson, isList, isObject } from './json-value.ts';

const maxOperations = 10_000;
const maxCopiedBytes = 3 * 1024 * 1024;

type Container = unknown[] | Record<string, unknown>;

/** Where a pointer ends: the container and the key in it. `container` is undefined for the whole document. */
interface Location {
  readonly container: Container | undefined;
  readonly key: string;
}

/** What the operations of one patch share: the document they change, and how much they have copied. */
interface Run {
  document: unknown;
  copiedBytes: number;
}

/** Applies a JSON patch (RFC 6902). The document and the body stay as they are. */
export function applyJsonPatch(document: JsonObject, body: unknown): unknown {
  if (!isList(body)) throw undecodable(body);
  for (const operation of body) if (!isObject(operation)) throw undecodable(operation, 'handlers.jsonPatchOp');
  if (body.length > maxOperations) throw tooManyOperations(body.length);

  // One copy that the operations may write to: copying the path of each would make long patches quadratic.
  const run: Run = { document: structuredClone(document), copiedBytes: 0 };
  for (const operation of body) if (isObject(operation)) applyOperation(run, operation);
  return run.document;
}

function applyOperation(run: Run, operation: JsonObject): void {
  const path = pointerOf(operation, 'path');
  switch (operation['op']) {
    case 'add':
      return add(run, path, valueOf(operation));
    case 'remove':
      return void remove(run, path);
    case 'replace':
      return replace(run, path, valueOf(operation));
    case 'move': {
      const from = pointerOf(operation, 'from');
      if (isPrefix(from, path)) {
        if (from.length === path.length) return void read(run.document, from);
        throw rejected();
      }
      return add(run, path, remove(run, from));
    }
    case 'copy':
      return copy(run, pointerOf(operation, 'from'), path);
    case 'test':
      return test(run, path, operation);
    default:
      throw rejected();
  }
}

function add(run: Run, path: readonly string[], value: unknown): void {
  const { container, key } = locate(run.document, path);
  if (container === undefined) throw rejected();
  if (Array.isArray(container)) container.splice(key === '-' ? container.length : indexIn(container, key, 1), 0, value);
  else define(container, key, value);
}

function replace(run: Run, path: readonly string[], value: unknown): void {
  const { container, key } = locate(run.document, path);
  if (container === undefined) run.document = value;
  else if (Array.isArray(container)) container[indexIn(container, key, 0)] = value;
  else define(container, key, value);
}

function remove(run: Run, path: readonly string[]): unknown {
  const { container, key } = locate(run.document, path);
  if (container === undefined) throw rejected();
  const value = child(container, key);
  if (Array.isArray(container)) container.splice(indexIn(container, key, 0), 1);
  else delete container[key];
  return value;
}

function copy(run: Run, from: readonly string[], path: readonly string[]): void {
  const value = valueAt(run.document, from);
  // Copies of copies double the document with every operation.
  run.copiedBytes += Buffer.byteLength(JSON.stringify(value));
  if (run.copiedBytes > maxCopiedBytes) throw rejected();
  add(run, path, structuredClone(value));
}

function test(run: Run, path: readonly string[], operation: JsonObject): void {
  const expected = Object.hasOwn(operation, 'value') ? operation['value'] : null;
  if (!equalJson(valueAt(run.document, path), expected)) throw rejected();
}

function pointerOf(operation: JsonObject, field: 'path' | 'from'): string[] {
  const pointer = operation[field];
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.includes('/'))) throw rejected();
  // What stands before the first slash is not looked at, in Kubernetes' library.
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A value that was left out is null. */
const valueOf = (operation: JsonObject): unknown => structuredClone(operation['value'] ?? null);

const isPrefix = (prefix: readonly string[], path: readonly string[]): boolean =>
  prefix.length <= path.length && prefix.every((token, index) => token === path[index]);

function read(document: unknown, path: readonly string[]): unknown {
  let value = document;
  for (const token of path) {
    if (!isContainer(value)) throw rejected();
    value = child(value, token);
  }
  return value;
}

/** What is at a path; null where its last key is missing, so that a test for null proves absence. */
function valueAt(document: unknown, path: readonly string[]): unknown {
  const { container, key } = locate(document, path);
  if (container === undefined) return document;
  const isMissing = !Array.isArray(container) && !Object.hasOwn(container, key);
  return isMissing ? null : child(container, key);
}

function locate(document: unknown, path: readonly string[]): Location {
  const key = path.at(-1);
  if (key === undefined) return { container: undefined, key: '' };
  const container = read(document, path.slice(0, -1));
  if (!isContainer(container)) throw rejected();
  return { container, key };
}

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

function child(container: Container, key: string): unknown {
  if (Array.isArray(container)) return container[indexIn(container, key, 0)];
  if (!Object.hasOwn(container, key)) throw rejected();
  return container[key];
}

/** The index a token names, from the end if negative; `beyond` is 1 where one past the end is allowed. */
function indexIn(items: readonly unknown[], token: string, beyond: 0 | 1): number {
  const size = items.length + beyond;
  const index = /^[+-]?\d+$/.test(token) ? Number(token) : Infinity;
  if (index >= size || index < -size) throw rejected();
  return index < 0 ? index + size : index;
}

/** Sets an own property, even where the key is `__proto__`, to which an assignment would give another meaning. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

const undecodable = (value: unknown, type = '[]handlers.jsonPatchOp'): StatusError =>
  badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${type}`);

const jsonTypeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

const tooManyOperations = (count: number): StatusError =>
  failure({
    code: 413,
    reason: 'RequestEntityTooLarge',
    message: `Request entity too large: The allowed maximum operations in a JSON patch is ${maxOperations}, got ${count}`,
  });

/** An operation that cannot be done. Kubernetes does not say which. */
const rejected = (): StatusError =>
  failure({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  });
