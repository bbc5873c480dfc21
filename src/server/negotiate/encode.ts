import { schemaNamed } from '../../api/kinds/registry.ts';
import { encodeListFrame, encodeObject } from '../../api/schema/protobuf.ts';
import { yamlPieces } from '../../api/schema/write-yaml.ts';
import type { Item } from '../cache/item.ts';
import type { ApiRequest, BodyReply, ListReply, Reply, UpgradeReply } from '../reply.ts';
import type { RequestInfo } from '../request.ts';
import { isTrue } from '../request.ts';
import { listMeta, statusSchema } from '../openapi/meta-schemas.ts';
import { encodingOf, protobufType } from './accept.ts';
import type { ListBody, ProtobufList, TextList } from './presenter.ts';
import { prettyPieces } from './pretty.ts';

/**
 * Characters that are read and written for one piece, beyond which only the current object or string is completed. Other
 * requests wait while a piece is encoded.
 */
const pieceCost = 128 << 10;

/** Lists up to this size are encoded once and kept; the objects of larger ones are encoded again when they are sent. */
const keptBytes = 1 << 20;

/** Encodes a reply as requested: compact JSON, indented JSON, YAML or protobuf. */
export function encodeReply<Upgrade extends UpgradeReply = never>(
  answer: Reply | ListReply | Upgrade,
  request: ApiRequest,
  info: RequestInfo,
): Reply | Upgrade {
  if ('stream' in answer || 'upgrade' in answer) return answer;
  const { status, headers } = answer;
  if (headers['Content-Type'] === 'application/json') {
    const encoding = encodingOf(request.header('accept'));
    if (encoding === 'yaml') {
      const body =
        'list' in answer ? yamlList(textList(answer.list)) : yamlPieces(JSON.parse(textOf(answer)), pieceCost);
      return { ...answer, headers: { ...headers, 'Content-Type': 'application/yaml' }, body };
    }
    const body = encoding === 'protobuf' && !('list' in answer) ? protobufOf(textOf(answer)) : undefined;
    if (body !== undefined) return { ...answer, headers: { ...headers, 'Content-Type': protobufType }, body };
    if (wantsPretty(request, info)) {
      const json = 'list' in answer ? jsonList(textList(answer.list)) : [textOf(answer)];
      return { ...answer, headers, body: prettyPieces(json, pieceCost) };
    }
  }
  if (!('list' in answer)) return answer;
  const { list } = answer;
  return { status, headers, body: 'encode' in list ? protobufList(list) : jsonList(list) };
}

/** The list of a reply in JSON. */
function textList(list: ListBody): TextList {
  if ('encode' in list) throw new Error('bug: a list in protobuf has the Content-Type of JSON');
  return list;
}

const textOf = ({ body }: BodyReply): string =>
  typeof body === 'string' || Buffer.isBuffer(body) ? body.toString() : [...body].join('');

/** A Status, a review or a token in protobuf; undefined for documents that have no such encoding. */
function protobufOf(json: string): Buffer | undefined {
  const value = JSON.parse(json) as { readonly apiVersion?: string; readonly kind?: string };
  const type = { apiVersion: value.apiVersion ?? '', kind: value.kind ?? '' };
  const schema = type.apiVersion === 'v1' && type.kind === 'Status' ? statusSchema : schemaNamed(type);
  return schema === undefined ? undefined : encodeObject(type, schema, value);
}

/**
 * The length of all objects precedes them, so they are encoded before the first byte is sent. Empty pieces let other
 * requests run meanwhile.
 */
function* protobufList({ type, metadata, items, encode }: ProtobufList): Generator<Buffer, void> {
  const listed: { readonly item: Item; bytes: Buffer | undefined }[] = [];
  let length = 0;
  let work = 0;
  for (const item of items) {
    const bytes = encode(item);
    length += bytes.length;
    listed.push({ item, bytes: length <= keptBytes ? bytes : undefined });
    work += item.entry.value.length + bytes.length;
    if (work < pieceCost) continue;
    yield nothing;
    work = 0;
  }
  const { before, after } = encodeListFrame(type, { schema: listMeta, metadata }, length);
  let pieces: Uint8Array[] = [before];
  for (const { item, bytes } of listed) {
    const field = bytes ?? encode(item);
    pieces.push(field);
    work += field.length + (bytes === undefined ? item.entry.value.length : 0);
    if (work < pieceCost) continue;
    yield Buffer.concat(pieces);
    pieces = [];
    work = 0;
  }
  yield Buffer.concat([...pieces, after]);
}

const nothing = Buffer.alloc(0);

function* jsonList({ head, field, items, write }: TextList): Generator<string, void> {
  let out = `${JSON.stringify(head).slice(0, -1)},"${field}":[`;
  let work = 0;
  let separator = '';
  for (const item of items) {
    const json = write(item);
    out += separator + json;
    separator = ',';
    // The whole object was read even if its table row is short.
    work += item.entry.value.length + json.length;
    if (work < pieceCost) continue;
    yield out;
    out = '';
    work = 0;
  }
  yield `${out}]}\n`;
}

/** Keys are sorted, so some fields of the head follow the objects. */
function* yamlList({ head, field, items, write }: TextList): Generator<string, void> {
  let out = '';
  for (const key of [...Object.keys(head), field].sort()) {
    if (key !== field) {
      for (const piece of yamlPieces({ [key]: head[key] }, pieceCost)) out += piece;
      continue;
    }
    const before = `${out}${field}:`;
    out = `${before}\n`;
    let work = 0;
    let isEmpty = true;
    for (const item of items) {
      isEmpty = false;
      const json = write(item);
      work += item.entry.value.length + json.length;
      for (const piece of yamlPieces([JSON.parse(json)], pieceCost)) {
        out += piece;
        work += piece.length;
        if (work < pieceCost) continue;
        yield out;
        out = '';
        work = 0;
      }
    }
    if (isEmpty) out = `${before} []\n`;
  }
  yield out;
}

function wantsPretty(request: ApiRequest, { query }: RequestInfo): boolean {
  const requested = query.get('pretty');
  if (requested !== null) return isTrue(requested);
  return /^(?:curl|Wget|Mozilla\/5\.0)/.test(request.header('user-agent') ?? '');
}
