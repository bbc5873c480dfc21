import { ProtobufError, WireReader, WireWriter } from './wire.ts';

/** What surrounds every protobuf body: the kind of the message and its bytes. */
export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  readonly raw: Uint8Array;
  /** '' means protobuf. */
  readonly contentType: string;
}

const magic = Uint8Array.of(0x6b, 0x38, 0x73, 0x00); // k8s\0

/** Opens a body of `application/vnd.kubernetes.protobuf`. Throws a `ProtobufError`. */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  if (bytes.length < magic.length || magic.some((byte, index) => bytes[index] !== byte)) {
    throw new ProtobufError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const reader = new WireReader(bytes, magic.length);
  let envelope: Envelope = { apiVersion: '', kind: '', raw: new Uint8Array(), contentType: '' };
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) envelope = { ...envelope, ...decodeTypeMeta(reader.message()) };
    else if (tag === 0x12) envelope = { ...envelope, raw: reader.bytes() };
    else if (tag === 0x22) envelope = { ...envelope, contentType: reader.string() };
    else reader.skip(tag & 7);
  }
  return envelope;
}

function decodeTypeMeta(reader: WireReader): Pick<Envelope, 'apiVersion' | 'kind'> {
  let apiVersion = '';
  let kind = '';
  while (!reader.done) {
    const tag = reader.tag();
    if (tag === 0x0a) apiVersion = reader.string();
    else if (tag === 0x12) kind = reader.string();
    else reader.skip(tag & 7);
  }
  return { apiVersion, kind };
}

/** The bytes of a body of `application/vnd.kubernetes.protobuf`. */
export function encodeEnvelope({ apiVersion, kind, raw }: Pick<Envelope, 'apiVersion' | 'kind' | 'raw'>): Uint8Array {
  const typeMeta = new WireWriter();
  typeMeta.string(1, apiVersion);
  typeMeta.string(2, kind);
  const envelope = new WireWriter();
  envelope.bytes(1, typeMeta.finish());
  envelope.bytes(2, raw);
  envelope.string(3, '');
  envelope.string(4, '');
  return Buffer.concat([magic, envelope.finish()]);
}
