// The OpenAPI documents of aggregated servers, and how they are merged with those of this server. Pure.

import { equalJson } from '../../api/schema/equal-json.ts';
import type { Document } from '../discovery/document.ts';
import { jsonDocument } from '../discovery/document.ts';

/** A document of OpenAPI v2; other programs wrote it. */
export interface Swagger {
  readonly paths?: Readonly<Record<string, unknown>>;
  readonly definitions?: Readonly<Record<string, unknown>>;
}

/** The hash of a version in the index of OpenAPI v3 of its server; undefined if the server has no document for it. */
export function hashInIndex(text: string, key: string): string | undefined {
  const index = JSON.parse(text) as {
    readonly paths?: Readonly<Record<string, { readonly serverRelativeURL?: unknown }>>;
  };
  const url = index.paths?.[key]?.serverRelativeURL;
  return typeof url === 'string' ? (/[?&]hash=([^&]*)/.exec(url)?.[1] ?? '') : undefined;
}

/** The index of OpenAPI v3 with the versions of other servers: key → hash. */
export function mergedIndex(document: Document, hashes: ReadonlyMap<string, string>): Document {
  const index = JSON.parse(document.body) as { readonly paths: Readonly<Record<string, object>> };
  const added = [...hashes].map(
    ([key, hash]) => [key, { serverRelativeURL: `/openapi/v3/${key}${hash === '' ? '' : `?hash=${hash}`}` }] as const,
  );
  const paths = Object.fromEntries([...Object.entries(index.paths), ...added].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return jsonDocument({ paths });
}

/** The paths of a version in a document, and the definitions that they refer to. Throws if the document is none. */
export function partFor(
  text: string,
  { group, version }: { readonly group: string; readonly version: string },
): Swagger {
  const { paths = {}, definitions = {} } = JSON.parse(text) as Swagger;
  const prefix = `/apis/${group}/${version}/`;
  const own = Object.fromEntries(
    Object.entries(paths).filter(([path]) => path.startsWith(prefix) || path === prefix.slice(0, -1)),
  );
  const used = new Map<string, unknown>();
  const open = referencesIn(own);
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (used.has(name) || !Object.hasOwn(definitions, name)) continue;
    used.set(name, definitions[name]);
    open.push(...referencesIn(definitions[name]));
  }
  return { paths: own, definitions: Object.fromEntries(used) };
}

const reference = '#/definitions/';

function referencesIn(value: unknown): string[] {
  const found = new Set<string>();
  rewritten(value, (name) => {
    found.add(name);
    return name;
  });
  return [...found];
}

/** The value with other names of definitions. */
function rewritten(value: unknown, rename: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each) => rewritten(each, rename));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, unknown]) => [
      key,
      key === '$ref' && typeof each === 'string' && each.startsWith(reference)
        ? `${reference}${rename(each.slice(reference.length))}`
        : rewritten(each, rename),
    ]),
  );
}

/** OpenAPI v2 of all servers. A definition that differs from another of its name gets a new one. */
export function mergedSwagger(document: Document, parts: readonly Swagger[]): Document {
  const all = JSON.parse(document.body) as Swagger;
  const paths: Record<string, unknown> = { ...all.paths };
  const definitions: Record<string, unknown> = { ...all.definitions };
  for (const part of parts) {
    const names = new Map<string, string>();
    for (const [name, definition] of Object.entries(part.definitions ?? {})) {
      names.set(name, freeName(definitions, name, definition));
    }
    const rename = (name: string): string => names.get(name) ?? name;
    for (const [name, definition] of Object.entries(part.definitions ?? {})) {
      definitions[rename(name)] ??= rewritten(definition, rename);
    }
    for (const [path, described] of Object.entries(part.paths ?? {})) paths[path] ??= rewritten(described, rename);
  }
  return jsonDocument({ ...all, paths, definitions }, document.contentType);
}

function freeName(definitions: Readonly<Record<string, unknown>>, name: string, definition: unknown): string {
  for (let suffix = 1; ; suffix++) {
    const candidate = suffix === 1 ? name : `${name}_v${suffix}`;
    if (!Object.hasOwn(definitions, candidate) || equalJson(definitions[candidate], definition)) return candidate;
  }
}
