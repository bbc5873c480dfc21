import type { Kind } from '../../api/kind.ts';
import type { Client } from '../../client/client.ts';
import { hasStatusCode } from '../../client/transport.ts';
import type { ImportFields } from '../record.ts';

/** The part of an OpenAPI document that lists the fields of kinds. */
interface Document {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly 'x-kubernetes-group-version-kind'?: readonly { readonly kind: string }[];
}

/**
 * The fields that a member's definition of imports has. The server silently drops all others: they must not be written again
 * and again. A server that publishes no schema is assumed to store all fields.
 */
export async function importFieldsOf(
  client: Client,
  { group, version, kind }: Kind,
  signal: AbortSignal,
): Promise<ImportFields> {
  try {
    // A cast where bytes become an object: the OpenAPI document.
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

/** undefined: a reference, which only built-in kinds have, and these have all fields. */
const namesOf = (schema: Schema | undefined): ReadonlySet<string> | undefined =>
  schema?.properties === undefined ? undefined : new Set(Object.keys(schema.properties));
