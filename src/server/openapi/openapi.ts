// OpenAPI documents, built from the kinds on the first request, to keep the start fast.

import type { GroupVersionKind, Kind } from '../../api/kind.ts';
import { groupVersionKind } from '../../api/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { always, list, optional, string, struct } from '../../api/schema/schema.ts';
import { WireWriter } from '../../api/schema/wire.ts';
import { getOrCompute } from '../../api/maps.ts';
import { yieldToEventLoop } from '../../machine/timers.ts';
import type { Document } from '../discovery/document.ts';
import { hashOf, jsonDocument, memoizePer, textDocument } from '../discovery/document.ts';
import { groupsOf } from '../discovery/groups.ts';
import { subresourcesOf } from '../discovery/subresources.ts';
import { kubernetesVersion } from '../discovery/version.ts';
import type { Dialect } from './components.ts';
import { reachableStructs, scalarDefinitions, structDefinition } from './components.ts';
import { listMeta, metaSchemas, metaV1 } from './meta-schemas.ts';
import { pathsOf } from './operations.ts';
import { renderPath } from './paths.ts';

const info = { title: 'Kubernetes', version: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.0` };

/** An OpenAPI v3 document with its hash in the index. */
export interface OpenApiDocument extends Document {
  readonly hash: string;
}

/** `/openapi/v3`: the index of the documents by group and version. */
export const openApiIndex = (kinds: readonly Kind[]): Document => index(kinds, '');

/** `/openapi/v3/{key}` for keys such as `api/v1` and `apis/discovery.k8s.io/v1`; undefined for unknown keys. */
export const openApiDocument = (kinds: readonly Kind[], key: string): OpenApiDocument | undefined =>
  document(kinds, key);

/** `/openapi/v2` as JSON. */
export const openApiV2 = (kinds: readonly Kind[]): Document => swagger(kinds, '');

/**
 * Renders the parts of a document that belong to one kind each, so that other requests run in between; `key` as for
 * `openApiDocument`, undefined: OpenAPI v2. The document itself only joins them.
 */
export async function prepareOpenApi(kinds: readonly Kind[], key?: string): Promise<void> {
  const served = key === undefined ? kinds : (kindsByKey(kinds, '').get(key) ?? []);
  let turn = performance.now();
  for (const kind of served) {
    pathTexts(kind, key === undefined ? 'v2' : 'v3');
    if (isDefined(kind)) definitionTexts(kind, key === undefined ? 'v2' : 'v3');
    if (performance.now() - turn < turnMs) continue;
    await yieldToEventLoop();
    turn = performance.now();
  }
}

/** Other requests run when rendering has taken this long. */
const turnMs = 5;

const keyOf = ({ group, version }: Kind): string => (group === '' ? `api/${version}` : `apis/${group}/${version}`);

/** The kinds of each document. */
const kindsByKey = memoizePer((kinds: readonly Kind[]): ReadonlyMap<string, readonly Kind[]> =>
  Map.groupBy(kinds, keyOf),
);

const index = memoizePer((kinds: readonly Kind[]) => {
  const byKey = [...kindsByKey(kinds, '')].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return jsonDocument({
    paths: Object.fromEntries(
      byKey.map(([key, served]) => [key, { serverRelativeURL: `/openapi/v3/${key}?hash=${hashFor(kinds, served)}` }]),
    ),
  });
});

function document(kinds: readonly Kind[], key: string): OpenApiDocument | undefined {
  const served = kindsByKey(kinds, '').get(key);
  return served && { ...documentOf(kinds, served), hash: hashFor(kinds, served) };
}

/** Custom resources are hashed by their definitions, so that the index does not build their documents. */
const hashFor = perKinds((kinds: readonly Kind[], served): string => {
  const hashes = served.map((kind) => getOrCompute(sourceHashes, kind, () => sourceHash(kind)));
  return hashes.includes(undefined) ? hashOf(documentOf(kinds, served).body) : hashOf(hashes.join('\n'));
});

const sourceHashes = new WeakMap<Kind, string | undefined>();

function sourceHash({ source }: Kind): string | undefined {
  const text = source?.();
  return text === undefined ? undefined : hashOf(text);
}

const bearerToken = { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } };

const documentOf = perKinds((kinds: readonly Kind[], served) => {
  const components = `{"schemas":${definitions(kinds, served, 'v3')},"securitySchemes":${JSON.stringify(bearerToken)}}`;
  const head = `{"openapi":"3.0.0","info":${JSON.stringify(info)}`;
  return textDocument(`${head},"paths":${renderPaths(served, 'v3')},"components":${components}}\n`);
});

/** Keeps the result for the kinds of one document while these stay the same, whatever other kinds come and go. */
function perKinds<Result>(compute: (kinds: readonly Kind[], served: readonly Kind[]) => Result): typeof compute {
  const known = new WeakMap<Kind, { readonly served: readonly Kind[]; readonly result: Result }>();
  return (kinds, served) => {
    const [first] = served;
    const found = first && known.get(first);
    const isSame = found?.served.length === served.length && found.served.every((kind, at) => kind === served[at]);
    if (isSame) return found.result;
    const result = compute(kinds, served);
    if (first !== undefined) known.set(first, { served, result });
    return result;
  };
}

const swagger = memoizePer((kinds: readonly Kind[]) => {
  const head = `{"swagger":"2.0","info":${JSON.stringify(info)},"paths":${renderPaths(kinds, 'v2')}`;
  const security = `"securityDefinitions":${JSON.stringify(bearerToken)},"security":[{"BearerToken":[]}]`;
  return textDocument(`${head},"definitions":${definitions(kinds, kinds, 'v2')},${security}}\n`);
});

const renderPaths = (kinds: readonly Kind[], dialect: Dialect): string =>
  `{${kinds.flatMap((kind) => pathTexts(kind, dialect)).join(',')}}`;

/** Keeps the texts of a kind, since most kinds stay when others come and go. */
function perKind(render: (kind: Kind, dialect: Dialect) => readonly string[]): typeof render {
  const known: Readonly<Record<Dialect, WeakMap<Kind, readonly string[]>>> = { v2: new WeakMap(), v3: new WeakMap() };
  return (kind, dialect) => getOrCompute(known[dialect], kind, () => render(kind, dialect));
}

const member = (name: string, value: unknown): string => `${JSON.stringify(name)}:${JSON.stringify(value)}`;

const pathTexts = perKind((kind, dialect) =>
  pathsOf(kind).map((entry) => member(entry.path, renderPath(entry, dialect))),
);

function listSchemaOf(kind: Kind): StructSchema {
  return struct(`${kind.schema.name}List`, `A list of ${kind.kind} objects.`, {
    apiVersion: optional(0, string, 'APIVersion defines the group and version of this kind.'),
    items: always(2, list(kind.schema), `List of ${kind.plural}.`, { required: true }),
    kind: optional(0, string, 'The kind of the object, in CamelCase. Cannot be changed.'),
    metadata: always(1, listMeta, 'Standard list metadata.'),
  });
}

/** Whether a CustomResourceDefinition defines the kind. */
const isDefined = ({ source }: Kind): boolean => source !== undefined;

/** The objects of a kind and their lists. */
const objectSchemas = (kind: Kind): readonly StructSchema[] =>
  kind.verbs.includes('list') ? [kind.schema, listSchemaOf(kind)] : [kind.schema];

/** The definitions of a custom kind, and those that only it refers to. */
const definitionTexts = perKind((kind, dialect) => {
  const gvks = ownGroupVersionKinds(kind);
  return objectSchemas(kind).map((schema) => member(schema.name, described(schema, gvks.get(schema.name), dialect)));
});

const described = (schema: StructSchema, gvk: readonly GroupVersionKind[] | undefined, dialect: Dialect): object => ({
  ...structDefinition(schema, dialect),
  ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}),
});

/** The named schemas of `served`; `all` kinds are needed for types that belong to every group. */
function definitions(all: readonly Kind[], served: readonly Kind[], dialect: Dialect): string {
  const custom = served.filter(isDefined);
  const own = served.filter((kind) => !isDefined(kind));
  const below = served.flatMap(subresourcesOf).flatMap(({ body }) => body?.schema ?? []);
  // Custom kinds refer to the same structs, such as the metadata.
  const structs = reachableStructs([
    ...[...own, ...custom.slice(0, 1)].flatMap(objectSchemas),
    ...below,
    ...metaSchemas,
  ]);
  const [first] = custom;
  const gvks = groupVersionKinds(all, own, served);
  const shared = [...structs].filter(([name]) => name !== first?.schema.name && name !== `${first?.schema.name}List`);
  const texts = [
    ...Object.entries(scalarDefinitions(dialect)).map(([name, schema]) => member(name, schema)),
    ...shared.map(([name, schema]) => member(name, described(schema, gvks.get(name), dialect))),
    ...custom.flatMap((kind) => definitionTexts(kind, dialect)),
  ];
  return `{${texts.toSorted().join(',')}}`;
}

/** The kinds of the objects of a kind and of their lists, by the names of their definitions. */
const ownGroupVersionKinds = ({
  group,
  version,
  kind,
  listKind,
  schema,
}: Kind): ReadonlyMap<string, readonly GroupVersionKind[]> =>
  new Map([
    [schema.name, [{ group, version, kind }]],
    [`${schema.name}List`, [{ group, version, kind: listKind ?? `${kind}List` }]],
  ]);

/** Definition name → its kinds; several for types that belong to every group. */
function groupVersionKinds(
  all: readonly Kind[],
  own: readonly Kind[],
  served: readonly Kind[],
): ReadonlyMap<string, readonly GroupVersionKind[]> {
  // Not those of custom resources, so that the documents do not change with them.
  const everywhere = groupsOf(all.filter((kind) => !isDefined(kind))).flatMap(({ name, versions }) =>
    versions.map(({ version }) => ({ group: name, version })),
  );
  const below = served
    .flatMap(subresourcesOf)
    .flatMap(({ body }): [string, readonly GroupVersionKind[]][] =>
      body === undefined ? [] : [[body.schema.name, [groupVersionKind(body)]]],
    );
  return new Map([
    ...own.flatMap((kind) => [...ownGroupVersionKinds(kind)]),
    ...below,
    [`${metaV1}.DeleteOptions`, everywhere.map((place) => ({ ...place, kind: 'DeleteOptions' }))],
    [`${metaV1}.WatchEvent`, everywhere.map((place) => ({ ...place, kind: 'WatchEvent' }))],
    [`${metaV1}.Status`, [{ group: '', version: 'v1', kind: 'Status' }]],
    [`${metaV1}.APIResourceList`, [{ group: '', version: 'v1', kind: 'APIResourceList' }]],
  ]);
}

/** The media type of OpenAPI v2 in protobuf, in the two spellings that clients send. */
export const openApiV2ProtobufTypes: readonly string[] = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
];

/**
 * OpenAPI v2 in protobuf, without paths or definitions. kubectl requests it only for an unknown kind and then reports the
 * unknown kind; a 406 would make it report an unsupported media type instead.
 */
export const emptyOpenApiV2: BinaryDocument = buildEmptyOpenApiV2();

interface BinaryDocument extends Omit<Document, 'body'> {
  readonly body: Buffer;
}

function buildEmptyOpenApiV2(): BinaryDocument {
  const info = new WireWriter();
  info.string(1, 'Kubernetes');
  info.string(2, 'unversioned');
  const document = new WireWriter();
  document.string(1, '2.0');
  document.bytes(2, info.finish());
  document.bytes(8, new Uint8Array()); // paths
  return { body: Buffer.from(document.finish()), etag: '"outline"', contentType: openApiV2ProtobufTypes[1] ?? '' };
}
