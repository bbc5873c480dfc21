import type { Document } from '../discovery/document.ts';
import { WireWriter } from '../../api/schema/wire.ts';

/** The media type in which kubectl asks for OpenAPI v2, in its two spellings. */
export const outlineTypes: readonly string[] = [
  'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
  'application/com.github.proto-openapi.spec.v2.v1.0+protobuf',
];

/**
 * OpenAPI v2 in its protobuf form, without paths or definitions. kubectl reads it only for a kind that it has not found
 * elsewhere, and goes on to say that there is no such kind; a refusal would end in an error about media types.
 */
export const openApiOutline: Outline = outline();

interface Outline extends Omit<Document, 'body'> {
  readonly body: Buffer;
}

function outline(): Outline {
  const info = new WireWriter();
  info.string(1, 'Kubernetes');
  info.string(2, 'unversioned');
  const document = new WireWriter();
  document.string(1, '2.0');
  document.bytes(2, info.finish());
  document.bytes(8, new Uint8Array()); // paths
  return { body: Buffer.from(document.finish()), etag: '"outline"', contentType: outlineTypes[1] ?? '' };
}
