// OpenAPI documents, built from the kinds on the first request, to keep the start fast.

import type { GroupVersionKind, Kind } from '../../api/kind.ts';
import { groupVersionKind } from '../../api/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { always, list, optional, string, struct } from '../../api/schema/schema.ts';
import { WireWriter } from '../../api/schema/wire.ts';
import { byKey } from '../../api/order.ts';
import type { Document } from '../discovery/document.ts';
import { hashOf, jsonDocument, memoizePer } from '../discovery/document.ts';
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
  const sources = served.map(({ source }) => source?.());
  return sources.includes(undefined) ? hashOf(documentOf(kinds, served).body) : hashOf(sources.join('\n'));
});

const documentOf = perKinds((kinds: readonly Kind[], served) =>
  jsonDocument({
    openapi: '3.0.0',
    info,
    paths: renderPaths(served, 'v3'),
    components: {
      schemas: definitions(kinds, served, 'v3'),
      securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    },
  }),
);

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

const swagger = memoizePer((kinds: readonly Kind[]) =>
  jsonDocument({
    swagger: '2.0',
    info,
    paths: renderPaths(kinds, 'v2'),
    definitions: definitions(kinds, kinds, 'v2'),
    securityDefinitions: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    security: [{ BearerToken: [] }],
  }),
);

const renderPaths = (kinds: readonly Kind[], dialect: Dialect): object =>
  Object.fromEntries(kinds.flatMap(pathsOf).map((entry) => [entry.path, renderPath(entry, dialect)]));

function listSchemaOf(kind: Kind): StructSchema {
  return struct(`${kind.schema.name}List`, `A list of ${kind.kind} objects.`, {
    apiVersion: optional(0, string, 'APIVersion defines the group and version of this kind.'),
    items: always(2, list(kind.schema), `List of ${kind.plural}.`, { required: true }),
    kind: optional(0, string, 'The kind of the object, in CamelCase. Cannot be changed.'),
    metadata: always(1, listMeta, 'Standard list metadata.'),
  });
}

/** The named schemas of `served`; `all` kinds are needed for types that belong to every group. */
function definitions(all: readonly Kind[], served: readonly Kind[], dialect: Dialect): object {
  const lists = served.filter(({ verbs }) => verbs.includes('list'));
  const below = served.flatMap(subresourcesOf).flatMap(({ body }) => body?.schema ?? []);
  const structs = reachableStructs([
    ...served.map(({ schema }) => schema),
    ...below,
    ...lists.map(listSchemaOf),
    ...metaSchemas,
  ]);
  const gvks = groupVersionKinds(all, served);
  const entries = [...structs].toSorted(byKey);
  const described = entries.map(([name, schema]) => {
    const gvk = gvks.get(name);
    return [
      name,
      { ...structDefinition(schema, dialect), ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}) },
    ] as const;
  });
  return { ...scalarDefinitions(dialect), ...Object.fromEntries(described) };
}

/** Definition name → its kinds; several for types that belong to every group. */
function groupVersionKinds(
  all: readonly Kind[],
  served: readonly Kind[],
): ReadonlyMap<string, readonly GroupVersionKind[]> {
  // Not those of custom resources, so that the documents do not change with them.
  const everywhere = groupsOf(all.filter(({ source }) => source === undefined)).flatMap(({ name, versions }) =>
    versions.map(({ version }) => ({ group: name, version })),
  );
  const own = served.flatMap(({ group, version, kind, listKind, schema }): [string, readonly GroupVersionKind[]][] => [
    [schema.name, [{ group, version, kind }]],
    [`${schema.name}List`, [{ group, version, kind: listKind ?? `${kind}List` }]],
  ]);
  const below = served
    .flatMap(subresourcesOf)
    .flatMap(({ body }): [string, readonly GroupVersionKind[]][] =>
      body === undefined ? [] : [[body.schema.name, [groupVersionKind(body)]]],
    );
  return new Map([
    ...own,
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
