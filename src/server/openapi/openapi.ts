// OpenAPI documents, built from the kinds when first asked for: nobody pays for them at start.

import type { GroupVersionKind, Kind } from '../../api/kind.ts';
import { groupVersionKind } from '../../api/kind.ts';
import type { StructSchema } from '../../api/schema/schema.ts';
import { always, list, optional, string, struct } from '../../api/schema/schema.ts';
import type { Document } from '../discovery/document.ts';
import { hashOf, jsonDocument, oncePer } from '../discovery/document.ts';
import { groupsOf } from '../discovery/groups.ts';
import { subresourcesOf } from '../discovery/subresources.ts';
import { kubernetesVersion } from '../discovery/version.ts';
import type { Dialect } from './components.ts';
import { reachableStructs, scalarDefinitions, structDefinition } from './components.ts';
import { listMeta, metaSchemas, metaV1 } from './meta-schemas.ts';
import { pathsOf } from './operations.ts';
import { renderPath } from './paths.ts';

const info = { title: 'Kubernetes', version: `v${kubernetesVersion.major}.${kubernetesVersion.minor}.0` };

/** An OpenAPI v3 document with the hash that the index gives for it. */
export interface OpenApiDocument extends Document {
  readonly hash: string;
}

/** `/openapi/v3`: where the document of each group and version is. */
export const openApiIndex = (kinds: readonly Kind[]): Document => index(kinds, '');

/** `/openapi/v3/{key}` for keys such as `api/v1` and `apis/discovery.k8s.io/v1`; undefined when nothing is there. */
export const openApiDocument = (kinds: readonly Kind[], key: string): OpenApiDocument | undefined =>
  document(kinds, key);

/** `/openapi/v2` as JSON. */
export const openApiV2 = (kinds: readonly Kind[]): Document => swagger(kinds, '');

const keyOf = ({ group, version }: Kind): string => (group === '' ? `api/${version}` : `apis/${group}/${version}`);

const keysOf = (kinds: readonly Kind[]): readonly string[] => [...new Set(kinds.map(keyOf))].toSorted();

const index = oncePer((kinds: readonly Kind[]) =>
  jsonDocument({
    paths: Object.fromEntries(
      keysOf(kinds).map((key) => [
        key,
        { serverRelativeURL: `/openapi/v3/${key}?hash=${document(kinds, key)?.hash ?? ''}` },
      ]),
    ),
  }),
);

const document = oncePer((kinds: readonly Kind[], key): OpenApiDocument | undefined => {
  const served = kinds.filter((kind) => keyOf(kind) === key);
  if (served.length === 0) return undefined;
  const built = jsonDocument({
    openapi: '3.0.0',
    info,
    paths: renderPaths(served, 'v3'),
    components: {
      schemas: definitions(kinds, served, 'v3'),
      securitySchemes: { BearerToken: { type: 'apiKey', name: 'authorization', in: 'header' } },
    },
  });
  return { ...built, hash: hashOf(built.body) };
});

const swagger = oncePer((kinds: readonly Kind[]) =>
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
    apiVersion: optional(0, string, 'The group and version that define this kind.'),
    items: always(2, list(kind.schema), 'The objects.', { required: true }),
    kind: optional(0, string, 'What this object is, in CamelCase. Cannot be changed.'),
    metadata: always(1, listMeta, 'Standard list metadata.'),
  });
}

/** The named schemas of `served`; `all` kinds are needed for what belongs to every group. */
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
  const entries = [...structs].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const described = entries.map(([name, schema]) => {
    const gvk = gvks.get(name);
    return [
      name,
      { ...structDefinition(schema, dialect), ...(gvk ? { 'x-kubernetes-group-version-kind': gvk } : {}) },
    ] as const;
  });
  return { ...scalarDefinitions(dialect), ...Object.fromEntries(described) };
}

/** Definition name → the kinds it is. Several for the types that every group has. */
function groupVersionKinds(
  all: readonly Kind[],
  served: readonly Kind[],
): ReadonlyMap<string, readonly GroupVersionKind[]> {
  const everywhere = groupsOf(all).flatMap(({ name, versions }) =>
    versions.map(({ version }) => ({ group: name, version })),
  );
  const own = served.flatMap(({ group, version, kind, schema }): [string, readonly GroupVersionKind[]][] => [
    [schema.name, [{ group, version, kind }]],
    [`${schema.name}List`, [{ group, version, kind: `${kind}List` }]],
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
