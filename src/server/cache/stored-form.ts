import type { Kind } from '../../api/kind.ts';
import { kindNamed } from '../../api/kinds/registry.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode } from '../../api/schema/decode.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { decodeEnvelope, decodeProtobuf } from '../../api/schema/protobuf.ts';
import { bytesOfValue } from '../../store/bytes.ts';
import { isEncrypted, readsEncrypted } from '../encryption/transformer.ts';
import type { Layout } from './layout.ts';
import { layoutOf, serialise } from './layout.ts';

/**
 * The value of an object as `serialise` returns it. Other programs, such as a kube-apiserver, write protobuf, or JSON in
 * another order and version. Throws an error with the reason if the value is not an object of the kind.
 */
export function storedForm(kind: Kind, layout: Layout, value: string): string {
  if (kind.readStored !== undefined && !isEncrypted(value)) {
    return serialise(layout, kind.readStored(JSON.parse(bytesOfValue(value).toString())));
  }
  if (value.startsWith(layout.head) && value.endsWith('}')) return value;
  if (isEncrypted(value)) throw new Error(readsEncrypted);
  const bytes = bytesOfValue(value);
  return serialise(layout, bytes[0] === openingBrace ? fromJson(kind, bytes.toString()) : fromProtobuf(kind, bytes));
}

const openingBrace = 0x7b;

/** The kind of the version in which an object is stored; `kind` itself unless only a webhook converts its versions. */
export function storedVersion(kind: Kind, value: string): Kind {
  const { webhookVersions } = kind;
  if (webhookVersions === undefined || isEncrypted(value) || value.startsWith(layoutOf(kind).head)) return kind;
  const stored: unknown = JSON.parse(bytesOfValue(value).toString());
  const apiVersion = isJsonObject(stored) ? String(stored['apiVersion']) : '';
  // One that the definition no longer has cannot be read as any kind.
  return webhookVersions.get(apiVersion.slice(apiVersion.indexOf('/') + 1)) ?? kind;
}

function fromProtobuf(kind: Kind, bytes: Uint8Array): ApiObject {
  const envelope = decodeEnvelope(bytes);
  return read(kind, envelope, ({ schema }) => decodeProtobuf(schema, envelope.raw));
}

function fromJson(kind: Kind, text: string): ApiObject {
  const value: unknown = JSON.parse(text);
  const { apiVersion, kind: name } = isJsonObject(value) ? value : {};
  const type = { apiVersion: String(apiVersion), kind: String(name) };
  return read(kind, type, ({ schema }) => decode<ApiObject>(schema, value).object);
}

/** Decodes an object with the kind of its type, which may be another version of `kind`. */
function read(
  kind: Kind,
  { apiVersion, kind: name }: Required<Pick<ApiObject, 'apiVersion' | 'kind'>>,
  decoded: (kind: Kind) => ApiObject,
): ApiObject {
  const slash = apiVersion.indexOf('/');
  const found = kindNamed(apiVersion.slice(0, Math.max(slash, 0)), apiVersion.slice(slash + 1), name);
  if (found === undefined || (found.storage?.kind ?? found) !== kind) {
    throw new Error(`${apiVersion} ${name} cannot be read as ${kind.kind}`);
  }
  const object = decoded(found);
  return kind.applyDefaults(found.storage?.toStorage(object) ?? object);
}
