import { badRequest, failure } from '../../api/errors.ts';
import type { Kind } from '../../api/kind.ts';
import type { ApiObject, OwnerReference } from '../../api/metadata.ts';
import { decode, DecodeError } from '../../api/schema/decode.ts';
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
import { decodeStage } from './body-decoder.ts';
import type { FieldValidation } from './write-options.ts';
import { withMetadata } from './write-request.ts';
import { getOrCompute } from '../../api/maps.ts';

/** Larger bodies are rejected before they are parsed. */
export const maxBodyBytes = 3 * 1024 * 1024;

/** A decoded object, and the warnings for the client. */
export interface DecodedBody {
  readonly object: ApiObject;
  readonly warnings: readonly string[];
}

/** Reads the object in the body, in any of the three encodings. Rejects invalid input with Kubernetes' 400. */
export async function readObject(
  { timeSlicer, bodies }: Pick<ServerContext, 'timeSlicer' | 'bodies'>,
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
  const { value, duplicates } = await bodies.decode(bytes, type, work).catch((error: unknown) => {
    if (error instanceof JsonError) throw unrecognised(kind, noVersion(error.message), bytes);
    if (error instanceof YamlError) throw unrecognised(kind, error.message, bytes);
    throw error;
  });
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

/** A 415 for an unsupported patch type; for custom resources Kubernetes lists the supported ones. */
export const unsupportedPatch = (kind: Kind, types: readonly string[]): Error =>
  kind.custom
    ? unsupportedType(types.filter((type) => !type.includes('strategic')).join(', '))
    : failure({
        code: 415,
        reason: 'UnsupportedMediaType',
        message: '415: Unsupported Media Type',
        details: {},
      });

/** Prints a value in a message: a string unquoted, anything else as JSON. */
export const printValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? ''));

/** How strictly a value is decoded. */
export interface Strictness {
  readonly validation: FieldValidation;
  /** Problems of the text itself: duplicate keys. */
  readonly duplicates: readonly string[];
  /** Orders those and the unknown fields as Kubernetes reports them. */
  readonly inOrder: (unknown: readonly string[]) => readonly string[];
}

/** Decodes a value as an object; unknown and duplicate fields are errors, warnings or ignored. */
export function decodeObject(value: unknown, kind: Kind, { validation, duplicates, inOrder }: Strictness): DecodedBody {
  const { object, unknown } = decode<ApiObject>(kind.schema, value);
  const read = clearsManagers(value) ? withMetadata(object, { managedFields: [] }) : object;
  if (validation === 'Ignore' || unknown.length + duplicates.length === 0) return { object: read, warnings: [] };
  const problems = inOrder(unknown).slice(0, maxProblems);
  if (validation === 'Warn') return { object: read, warnings: problems };
  throw new DecodeError(`strict decoding error: ${problems.join(', ')}`);
}

/** Whether the value has an empty list of managers, which clears them. Decoding drops empty lists. */
function clearsManagers(value: unknown): boolean {
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

/** Removes duplicate owner references and adds a warning about them; `when` completes Kubernetes' message. */
export function withUniqueOwners(object: ApiObject, warnings: readonly string[], when = ''): DecodedBody {
  const owners = object.metadata.ownerReferences ?? [];
  // Decoded fields have a fixed order, so equal owners have equal JSON.
  const unique = new Map<string, OwnerReference>();
  const repeated: string[] = [];
  for (const owner of owners) {
    if (getOrCompute(unique, JSON.stringify(owner), () => owner) !== owner) repeated.push(owner.uid);
  }
  if (repeated.length === 0) return { object, warnings };
  const warning =
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may ` +
    `reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${repeated.join(', ')}`;
  return { object: withMetadata(object, { ownerReferences: [...unique.values()] }), warnings: [...warnings, warning] };
}
