import { badRequest, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
import type { ParsedJson } from '../../api/schema/json.ts';
import { JsonError } from '../../api/schema/json.ts';
import { strictProblems } from '../../api/schema/json-scan.ts';
import { isJsonObject } from '../../api/schema/json-object.ts';
import { maxProblems } from '../../api/schema/path.ts';
import { decodeEnvelope, decodeProtobuf, ProtobufError } from '../../api/schema/protobuf.ts';
import { YamlError } from '../../api/schema/yaml.ts';
import { acceptedTypes } from '../negotiate/accept.ts';
import type { ServerContext } from '../context.ts';
import type { Work } from '../limits/time-slicer.ts';
import type { ApiRequest } from '../reply.ts';
import { checkType, noVersion, unrecognised } from './body-type.ts';
import { decodeBody, decodeStage } from './decode-body.ts';
import type { FieldValidation } from './write-options.ts';
import { withMetadata } from './write-request.ts';

/** Larger bodies are refused before they are parsed. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** An object that a client sent, and what it should be told about it. */
export interface DecodedBody {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** Reads the object in the body, in any of the three encodings. Bad input is a 400 in Kubernetes' words. */
export async function readObject(
  { timeSlicer }: Pick<ServerContext, 'timeSlicer'>,
  request: ApiRequest,
  kind: Kind,
  validation: FieldValidation,
): Promise<DecodedBody & { readonly work: Work }> {
  const type = mediaType(request);
  if (type !== 'json' && type !== 'yaml' && type !== 'protobuf') throw unsupportedType(acceptedTypes);
  const bytes = await request.body(maxBodyBytes);
  const work = timeSlicer.open(bytes.length);
  if (type === 'protobuf')
    return { object: await decodeStage(work, () => fromProtobuf(bytes, kind)), warnings: [], work };
  const { value, duplicates } = await decodeText(bytes, type, kind, work);
  checkType(value, kind, bytes);
  const inOrder = (unknown: readonly string[]): readonly string[] =>
    type === 'json' && duplicates.length > 0
      ? strictProblems(bytes.toString(), kind.schema)
      : [...duplicates, ...unknown];
  try {
    const decoded = await work.run(() => decodeObject(value, kind, { validation, duplicates, inOrder }));
    return { ...decoded, work };
  } catch (error) {
    if (error instanceof DecodeError) throw cannotHandle(kind, error.message);
    throw error;
  }
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

/** A 415 for a patch of no type that the kind takes; of custom resources Kubernetes says which those are. */
export const unsupportedPatch = (kind: Kind, types: readonly string[]): Error =>
  kind.custom
    ? unsupportedType(types.filter((type) => !type.includes('strategic')).join(', '))
    : failure({
        code: 415,
        reason: 'UnsupportedMediaType',
        message: '415: Unsupported Media Type',
        details: {},
      });

/** Text as a value, whatever its syntax. */
async function decodeText(bytes: Buffer, type: 'json' | 'yaml', kind: Kind, work: Work): Promise<ParsedJson> {
  try {
    return await decodeBody(bytes, type, work);
  } catch (error) {
    if (error instanceof JsonError) throw unrecognised(kind, noVersion(error.message), bytes);
    if (error instanceof YamlError) throw unrecognised(kind, error.message, bytes);
    throw error;
  }
}

/** A value of a client in a message: strings as they are, anything else as JSON. */
export const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

/** How strictly a value is read. */
export interface Strictness {
  readonly validation: FieldValidation;
  /** What is wrong with the text itself: duplicate keys. */
  readonly duplicates: readonly string[];
  /** Those and the unknown fields, in the order in which they are told. */
  readonly inOrder: (unknown: readonly string[]) => readonly string[];
}

/** A value as an object of the kind; unknown and duplicate fields are refused, told or ignored as asked. */
export function decodeObject(value: unknown, kind: Kind, { validation, duplicates, inOrder }: Strictness): DecodedBody {
  const { object, unknown } = decode<ApiObject>(kind.schema, value);
  const read = emptiesManagers(value) ? withMetadata(object, { managedFields: [] }) : object;
  if (validation === 'Ignore' || unknown.length + duplicates.length === 0) return { object: read, warnings: [] };
  const problems = inOrder(unknown).slice(0, maxProblems);
  if (validation === 'Warn') return { object: read, warnings: problems };
  throw new DecodeError(`strict decoding error: ${problems.join(', ')}`);
}

/** An empty list of managers is more than none: it asks to forget them. Decoding drops empty lists. */
function emptiesManagers(value: unknown): boolean {
  const metadata = isJsonObject(value) ? value['metadata'] : undefined;
  const sent = isJsonObject(metadata) ? metadata['managedFields'] : undefined;
  return Array.isArray(sent) && sent.length === 0;
}

const cannotHandle = (kind: Kind, why: string): Error =>
  badRequest(`${kind.kind} in version ${JSON.stringify(kind.version)} cannot be handled as a ${kind.kind}: ${why}`);

function fromProtobuf(bytes: Buffer, kind: Kind): ApiObject {
  const envelope = envelopeOf(bytes, kind);
  checkType({ apiVersion: envelope.apiVersion, kind: envelope.kind }, kind, bytes);
  try {
    return decodeProtobuf<ApiObject>(kind.schema, envelope.raw);
  } catch (error) {
    if (error instanceof ProtobufError) throw cannotHandle(kind, error.message);
    throw error;
  }
}

function envelopeOf(bytes: Buffer, kind: Kind): ReturnType<typeof decodeEnvelope> {
  try {
    return decodeEnvelope(bytes);
  } catch (error) {
    if (error instanceof ProtobufError) throw unrecognised(kind, error.message, bytes);
    throw error;
  }
}
