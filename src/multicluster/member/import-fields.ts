import type { Kind } from '../../api/kind.ts';
import type { Client } from '../../client/client.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ImportFields } from '../record.ts';

/** The part of an OpenAPI document that says which fields a kind has. */
interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}

/**
 * Which fields of an import the definition in a member has. A server drops the others without a word, and an import that
 * lacks them must not be sent them again and again. A server that publishes no fields is taken to keep all.
 */
export async function importFieldsOf(
  client: Client,
  { group, version, kind }: Kind,
  signal: AbortSignal,
): Promise<ImportFields> {
  try {
    // A cast where bytes become an object: what a server says of its kinds.
    const document = (await client.read(`/openapi/v3/apis/${group}/${version}`, { signal })) as Document;
    const { properties } =
      Object.values(document.components?.schemas ?? {}).find((schema) =>
        schema['x-kubernetes-group-version-kind']?.some((each) => each.kind === kind),
      ) ?? {};
    return { spec: namesOf(properties?.['spec']), status: namesOf(properties?.['status']) };
  } catch (error) {
    if ([403, 404, 406].some((code) => hasStatusCode(error, code))) return {};
    throw error;
  }
}

/** Definitions list fields in place; what refers elsewhere is a kind that is built in, and whole. */
const namesOf = (schema: Schema | undefined): ReadonlySet<string> | undefined =>
  schema?.properties === undefined ? undefined : new Set(Object.keys(schema.properties));
