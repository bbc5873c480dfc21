// CustomResourceDefinitions of kinds of this project, for clusters whose API server is not Fairlead's.
import type { Column, Kind } from './kind.ts';
import type { ApiObject } from './metadata.ts';
import type { ListSchema, ScalarType, Schema, StructSchema } from './schema/schema.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Groups below k8s.io need a reference to their approval. */
const approval = 'api-approved.kubernetes.io';
const approvals: Readonly<Record<string, string>> = {
  'multicluster.k8s.io': 'unapproved, the first version of KEP-1645',
  'about.k8s.io': 'https://github.com/kubernetes/enhancements/pull/2150',
};

/** The definitions of all kinds among `kinds` that behave as custom resources. Each lists the storage version first. */
export function definitionsOf(kinds: readonly Kind[]): readonly ApiObject[] {
  const byResource = Map.groupBy(
    kinds.filter(({ custom }) => custom),
    ({ group, plural }) => `${plural}.${group}`,
  );
  return Array.from(byResource, ([name, versions]) => definitionOf(name, versions));
}

function definitionOf(name: string, versions: readonly Kind[]): ApiObject {
  const [stored] = versions;
  if (stored === undefined) throw new Error('bug: a definition without versions');
  const { group, kind, plural, singular, shortNames, categories, namespaced } = stored;
  const approved = approvals[group];
  const definition = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name, ...(approved === undefined ? {} : { annotations: { [approval]: approved } }) },
    spec: {
      group,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular,
        ...(shortNames.length === 0 ? {} : { shortNames }),
        ...(categories.length === 0 ? {} : { categories }),
      },
      versions: versions.map((version) => versionOf(version, version === stored)),
    },
  };
  return definition;
}

const versionOf = ({ version, columns, hasStatus, schema }: Kind, isStored: boolean): object => ({
  name: version,
  served: true,
  storage: isStored,
  additionalPrinterColumns: columns.flatMap(printerColumn),
  ...(hasStatus ? { subresources: { status: {} } } : {}),
  schema: { openAPIV3Schema: objectSchemaOf(schema) },
});

/** A column that a JSONPath can compute; the others exist on Fairlead's own server only. */
const printerColumn = ({ name, type, description, priority, path }: Column): readonly object[] =>
  path === undefined ? [] : [{ name, type, description, jsonPath: path, ...(priority === 0 ? {} : { priority }) }];

/** The API server adds the fields of metadata. */
function objectSchemaOf(schema: StructSchema): JsonSchema {
  const { metadata: _, ...fields } = schema.fields;
  const { properties, ...rest } = structSchemaOf({ ...schema, fields });
  return { ...rest, properties: { ...(properties as object), metadata: { type: 'object' } } };
}

function structSchemaOf({ description, fields, atomic, open }: StructSchema): JsonSchema {
  const entries = Object.entries(fields);
  const required = entries.filter(([, field]) => field.required).map(([name]) => name);
  return {
    description,
    type: 'object',
    ...(required.length > 0 ? { required } : {}),
    ...(atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
    ...(open ? { 'x-kubernetes-preserve-unknown-fields': true } : {}),
    properties: Object.fromEntries(
      entries.map(([name, field]) => [name, { ...schemaOf(field.schema), description: field.description }]),
    ),
  };
}

const scalars: Readonly<Record<ScalarType, JsonSchema>> = {
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  double: { type: 'number', format: 'double' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  quantity: { 'x-kubernetes-int-or-string': true },
  intOrString: { 'x-kubernetes-int-or-string': true },
  json: { 'x-kubernetes-preserve-unknown-fields': true },
};

function schemaOf(schema: Schema): JsonSchema {
  if (schema.type === 'struct') return structSchemaOf(schema);
  if (schema.type === 'list') return listSchemaOf(schema);
  if (schema.type === 'string') return { type: 'string', ...(schema.enum ? { enum: schema.enum } : {}) };
  if (schema.type === 'opaque') return schema.published('v3');
  if (schema.type !== 'map') return scalars[schema.type];
  return {
    type: 'object',
    additionalProperties: schemaOf(schema.values),
    ...(schema.atomic ? { 'x-kubernetes-map-type': 'atomic' } : {}),
  };
}

const listSchemaOf = ({ items, listType, keys }: ListSchema): JsonSchema => ({
  type: 'array',
  items: schemaOf(items),
  'x-kubernetes-list-type': listType,
  ...(keys.length > 0 ? { 'x-kubernetes-list-map-keys': keys } : {}),
});
