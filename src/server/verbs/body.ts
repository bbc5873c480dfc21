import { badRequest, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import { apiVersionOf } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import { JsonError, parseJson } from '../../api/schema/json.ts';
import { decodeEnvelope, decodeProtobuf, ProtobufError } from '../../api/schema/protobuf.ts';
import { parseYaml, YamlError } from '../../api/schema/yaml.ts';
import { acceptedTypes } from '../negotiate/accept.ts';
import type { ApiRequest } from '../reply.ts';
import type { FieldValidation } from './write-options.ts';

/** Larger bodies are refused before they are parsed. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** An object that a client sent, and what it should be told about it. */
export interface DecodedBody {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** Reads the object in the body, in any of the three encodings. Bad input is a 400 in Kubernetes' words. */
export async function readObject(request: ApiRequest, kind: Kind, validation: FieldValidation): Promise<DecodedBody> {
  const type = mediaType(request);
  if (type !== 'json' && type !== 'yaml' && type !== 'protobuf') throw unsupportedType(acceptedTypes);
  const bytes = await request.body(maxBodyBytes);
  if (type === 'protobuf') return { object: fromProtobuf(bytes, kind), warnings: [] };
  const { value, duplicates } = parseText(bytes, type, kind);
  checkType(value, kind);
  return decodeObject(value, kind, { validation, duplicates });
}

/** The short name of the Content-Type; a missing one means JSON. */
export function mediaType(request: ApiRequest): string {
  const type = (request.header('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  return mediaTypes.get(type) ?? type;
}

const mediaTypes = new Map([
  ['', 'json'],
  ['application/json', 'json'],
  ['application/yaml', 'yaml'],
  ['application/vnd.kubernetes.protobuf', 'protobuf'],
]);

export const unsupportedType = (accepted: string): Error =>
  failure({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: `the body of the request was in an unknown format - accepted media types include: ${accepted}`,
  });

/** Text as a value, whatever its syntax. */
export function parseText(
  bytes: Buffer,
  type: 'json' | 'yaml',
  kind: Kind,
): { readonly value: unknown; readonly duplicates: readonly string[] } {
  const source = utf8(bytes);
  try {
    return type === 'json' ? parseJson(source) : parseYaml(source);
  } catch (error) {
    if (error instanceof JsonError) throw unrecognised(kind, `json parse error: ${error.message}`, source);
    if (error instanceof YamlError) throw unrecognised(kind, `yaml parse error: ${error.message}`, source);
    throw error;
  }
}

/** Invalid UTF-8 becomes U+FFFD, as Go's decoder has it. */
const utf8 = (bytes: Buffer): string => bytes.toString('utf8');

const unrecognised = (kind: Kind, why: string, source: string): Error =>
  badRequest(
    `the object provided is unrecognized (must be of type ${kind.kind}): couldn't get version/kind; ${why} (${Buffer.from(source.slice(0, 30)).toString('hex').slice(0, 30)} ...)`,
  );

/** The apiVersion and kind in a body must be those of the URL; built-in kinds may leave them out. */
function checkType(value: unknown, kind: Kind): void {
  const given = typeof value === 'object' && value !== null ? (value as { apiVersion?: unknown; kind?: unknown }) : {};
  const expected = apiVersionOf(kind);
  if (kind.custom && (given.kind === undefined || given.kind === '')) {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(value).slice(0, 200)}'`);
  }
  if (given.apiVersion !== undefined && given.apiVersion !== '' && given.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${text(given.apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (given.kind !== undefined && given.kind !== '' && given.kind !== kind.kind) {
    throw badRequest(
      `${text(given.kind)} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: no kind ${JSON.stringify(given.kind)} is registered for this resource`,
    );
  }
}

/** A value of a client in a message: strings as they are, anything else as JSON. */
export const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

/** A value as an object of the kind; unknown and duplicate fields are refused, told or ignored as asked. */
export function decodeObject(
  value: unknown,
  kind: Kind,
  { validation, duplicates }: { readonly validation: FieldValidation; readonly duplicates: readonly string[] },
): DecodedBody {
  try {
    const { object, unknown } = decode<ApiObject>(kind.schema, value);
    const problems = [...unknown, ...duplicates];
    if (problems.length === 0 || validation === 'Ignore') return { object, warnings: [] };
    if (validation === 'Warn') return { object, warnings: problems };
    throw badRequest(cannotHandle(kind, `strict decoding error: ${problems.slice(0, 100).join(', ')}`));
  } catch (error) {
    if (error instanceof DecodeError) throw badRequest(cannotHandle(kind, error.message));
    throw error;
  }
}

export const cannotHandle = (kind: Kind, why: string): string =>
  `${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`;

function fromProtobuf(bytes: Buffer, kind: Kind): ApiObject {
  try {
    const envelope = decodeEnvelope(bytes);
    checkType({ apiVersion: envelope.apiVersion, kind: envelope.kind }, kind);
    return decodeProtobuf<ApiObject>(kind.schema, envelope.raw);
  } catch (error) {
    if (error instanceof ProtobufError) throw badRequest(cannotHandle(kind, error.message));
    throw error;
  }
}
