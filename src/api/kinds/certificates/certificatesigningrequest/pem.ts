/** A block of a PEM file (RFC 7468). */
export interface PemBlock {
  readonly type: string;
  readonly hasHeaders: boolean;
  readonly der: Buffer;
  /** The text after the block. */
  readonly rest: string;
}

const begin = '-----BEGIN ';
const dashes = '-----';

/** The first block of a text, which may be surrounded by other text; undefined if it has none. */
export function firstPemBlock(text: string): PemBlock | undefined {
  const start = text.indexOf(begin);
  const typeEnd = text.indexOf(dashes, start + begin.length);
  if (start < 0 || typeEnd < 0) return undefined;
  const type = text.slice(start + begin.length, typeEnd);
  const end = `-----END ${type}-----`;
  const bodyEnd = text.indexOf(end, typeEnd);
  if (bodyEnd < 0) return undefined;
  const body = text.slice(typeEnd + dashes.length, bodyEnd);
  const hasHeaders = body.includes(':');
  const base64 = body.slice(hasHeaders ? body.lastIndexOf(':') : 0);
  const encoded = hasHeaders ? base64.slice(base64.indexOf('\n')) : base64;
  return { type, hasHeaders, der: Buffer.from(encoded, 'base64'), rest: text.slice(bodyEnd + end.length) };
}
