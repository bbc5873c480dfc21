import { isJsonObject, setField } from '../../api/schema/json-object.ts';
import { badRequest, entityTooLarge, failure, StatusError } from '../../api/errors.ts';
import type { JsonObject } from './json-value.ts';
import { equalJson } from '../../api/schema/equal-json.ts';
import { isList } from './json-value.ts';
import { ChunkedList } from './chunked-list.ts';

const maxOperations = 10_000;
const maxCopiedBytes = 3 * 1024 * 1024;

/** A list is an array until an operation writes to it. */
type Container = readonly unknown[] | ChunkedList | Record<string, unknown>;

/** The target of a pointer: a container and the key in it. `container` is undefined for the whole document. */
interface Location<T> {
  readonly container: T | undefined;
  readonly key: string;
}

interface Run {
  document: unknown;
  /** The objects that this run has copied and may modify, as it may every `ChunkedList`. */
  readonly owned: WeakSet<object>;
  copiedBytes: number;
}

/**
 * Applies a JSON patch (RFC 6902) without modifying the document or the body: an operation copies the containers on its
 * path, each once per run. Yields between operations, so that the caller can pause.
 */
export function* applyJsonPatch(document: JsonObject, body: unknown): Generator<void, unknown> {
  if (!isList(body)) throw undecodable(body);
  for (const operation of body) if (!isJsonObject(operation)) throw undecodable(operation, 'handlers.jsonPatchOp');
  if (body.length > maxOperations) throw tooManyOperations(body.length);

  const run: Run = { document, owned: new WeakSet(), copiedBytes: 0 };
  for (const operation of body) {
    if (isJsonObject(operation)) applyOperation(run, operation);
    yield;
  }
  return plain(run, run.document);
}

function applyOperation(run: Run, operation: JsonObject): void {
  const path = pointerOf(operation, 'path');
  switch (operation['op']) {
    case 'add':
      return add(run, path, operation['value'] ?? null);
    case 'remove':
      return void remove(run, path);
    case 'replace':
      return replace(run, path, operation['value'] ?? null);
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
  const { container, key } = locateOwned(run, path);
  if (container === undefined) throw rejected();
  if (container instanceof ChunkedList) {
    container.insert(key === '-' ? container.length : indexIn(container, key, 1), value);
  } else setField(container, key, value);
}

function replace(run: Run, path: readonly string[], value: unknown): void {
  const { container, key } = locateOwned(run, path);
  if (container === undefined) run.document = value;
  else put(container, key, value);
}

function remove(run: Run, path: readonly string[]): unknown {
  const { container, key } = locateOwned(run, path);
  if (container === undefined) throw rejected();
  const value = child(container, key);
  if (container instanceof ChunkedList) container.remove(indexIn(container, key, 0));
  else delete container[key];
  return value;
}

function copy(run: Run, from: readonly string[], path: readonly string[]): void {
  const value = valueAt(run, from);
  // Repeated copies can double the document with every operation.
  run.copiedBytes += Buffer.byteLength(JSON.stringify(value));
  if (run.copiedBytes > maxCopiedBytes) throw rejected();
  add(run, path, value);
}

function test(run: Run, path: readonly string[], operation: JsonObject): void {
  const expected = Object.hasOwn(operation, 'value') ? operation['value'] : null;
  if (!equalJson(valueAt(run, path), expected)) throw new PatchTestFailed(rejected().status);
}

/** A `test` operation failed. */
export class PatchTestFailed extends StatusError {}

function pointerOf(operation: JsonObject, field: 'path' | 'from'): string[] {
  const pointer = operation[field];
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.includes('/'))) throw rejected();
  // Kubernetes' library ignores text before the first slash.
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

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

/** The value at a path; null if its last key is missing, so that a test for null succeeds. */
function valueAt(run: Run, path: readonly string[]): unknown {
  const { container, key } = locate(run.document, path);
  if (container === undefined) return plain(run, run.document);
  const isMissing = !isItems(container) && !Object.hasOwn(container, key);
  return isMissing ? null : plain(run, child(container, key));
}

function locate(document: unknown, path: readonly string[]): Location<Container> {
  const key = path.at(-1);
  if (key === undefined) return { container: undefined, key: '' };
  const container = read(document, path.slice(0, -1));
  if (!isContainer(container)) throw rejected();
  return { container, key };
}

/** Like `locate`, but copies the containers on the path that this run does not own yet. */
function locateOwned(run: Run, path: readonly string[]): Location<ChunkedList | Record<string, unknown>> {
  const key = path.at(-1);
  if (key === undefined) return { container: undefined, key: '' };
  let container = own(run, run.document);
  run.document = container;
  for (const token of path.slice(0, -1)) {
    const next = own(run, child(container, token));
    put(container, token, next);
    container = next;
  }
  return { container, key };
}

function own(run: Run, value: unknown): ChunkedList | Record<string, unknown> {
  if (!isContainer(value)) throw rejected();
  if (value instanceof ChunkedList) return value;
  if (isList(value)) return new ChunkedList(value);
  if (run.owned.has(value)) return value;
  const copied = { ...value };
  run.owned.add(copied);
  return copied;
}

/** A copy as plain JSON, which later operations do not modify. */
function plain(run: Run, value: unknown): unknown {
  if (value instanceof ChunkedList) return value.toArray().map((item) => plain(run, item));
  if (!isJsonObject(value) || !run.owned.has(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, plain(run, below)]));
}

const isContainer = (value: unknown): value is Container => typeof value === 'object' && value !== null;

const isItems = (container: Container): container is readonly unknown[] | ChunkedList =>
  isList(container) || container instanceof ChunkedList;

function child(container: Container, key: string): unknown {
  if (isItems(container)) return container.at(indexIn(container, key, 0));
  if (!Object.hasOwn(container, key)) throw rejected();
  return container[key];
}

function put(container: ChunkedList | Record<string, unknown>, key: string, value: unknown): void {
  if (container instanceof ChunkedList) container.set(indexIn(container, key, 0), value);
  else setField(container, key, value);
}

/** The index of a token, from the end if negative; `beyond` is 1 if one past the end is allowed. */
function indexIn(items: { readonly length: number }, token: string, beyond: 0 | 1): number {
  const size = items.length + beyond;
  const index = /^[+-]?\d+$/.test(token) ? Number(token) : Infinity;
  if (index >= size || index < -size) throw rejected();
  return index < 0 ? index + size : index;
}

const undecodable = (value: unknown, type = '[]handlers.jsonPatchOp'): StatusError =>
  badRequest(`error decoding patch: json: cannot unmarshal ${jsonTypeOf(value)} into Go value of type ${type}`);

const jsonTypeOf = (value: unknown): string => {
  if (value === null) return 'null';
  if (isList(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
};

const tooManyOperations = (count: number): StatusError =>
  entityTooLarge(`The allowed maximum operations in a JSON patch is ${maxOperations}, got ${count}`);

/** The error for an operation that fails, which Kubernetes does not name. */
const rejected = (): StatusError =>
  failure({
    code: 422,
    reason: 'Invalid',
    message: 'the server rejected our request due to an error in our request',
    details: {},
  });
